import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Model } from '../model/model.ts';
import { questionsAbout, type Question } from '../model/questions.ts';
import type { Answer } from '../support/client.ts';
import type { TestPartner } from '../support/partners.ts';
import { numberOfRuns } from '../support/runs.ts';
import type { TestService } from '../support/service.ts';
import { dataOf, pathOf, withoutRequestId, startModelledService, type ModelledService } from './asking.ts';

const QUESTIONS = numberOfRuns({ inDefaultSet: 400, otherwise: 1_000 });

/** Two partners whose scopes overlap only in suppliers and reference lists. */
const CONFINED = ['one-lead-entity', 'mixed'] as const;

/** Headers that differ between equal requests. */
const CHANGING_HEADERS = new Set(['date', 'x-request-id', 'ratelimit', 'ratelimit-policy']);

const NO_SUCH_ID = 'no_such_id';

let started: ModelledService;
let service: TestService;
let model: Model;

beforeAll(async () => {
  started = await startModelledService(3);
  ({ service, model } = started);
}, 120_000);
afterAll(() => started.close());

test('what a partner may not see is in none of its answers, and is answered like what does not exist', async () => {
  const everything = service.partner('everything');
  const confined = CONFINED.map((name) => ({ ...service.partner(name), ...hiddenFrom(service.partner(name)) }));
  const tally = { hiddenRecords: 0, hiddenFilters: 0, recordsShown: 0 };
  const asked = questionsAbout(
    model,
    service.published.map(({ publishedAt }) => publishedAt),
  );
  await fc.assert(
    fc.asyncProperty(asked, async (question) => {
      for (const partner of confined) {
        const answers = await askAll(partner, question);
        for (const answer of answers)
          expect(stringsIn(answer.body).filter((text) => partner.ids.has(text))).toEqual([]);
        if (question.ask === 'list') {
          const shown = answers.flatMap(dataOf);
          tally.recordsShown += shown.length;
          // Partners whose grants have other timestamps get other syncs.
          const isComparable = shown.length > 0 && question.filters['updated_since'] === undefined;
          if (isComparable) expectPartOf(shown, (await askAll(everything, question)).flatMap(dataOf));
        }
        const unknown = withoutHidden(question, partner);
        if (unknown === null) continue;
        tally[question.ask === 'detail' ? 'hiddenRecords' : 'hiddenFilters'] += 1;
        expect(answers.map(comparable)).toEqual((await askAll(partner, unknown)).map(comparable));
      }
    }),
    { seed: 20_260_417, numRuns: QUESTIONS },
  );
  // Enough requests were about hidden records, and enough returned records.
  expect(tally.hiddenRecords).toBeGreaterThan(QUESTIONS / 10);
  expect(tally.hiddenFilters).toBeGreaterThan(QUESTIONS / 10);
  expect(tally.recordsShown).toBeGreaterThan(QUESTIONS);
}, 120_000);

test('a count is that of the records that the list shows, for every partner', async () => {
  const asked = questionsAbout(model, []).filter(({ ask }) => ask === 'count') as fc.Arbitrary<
    Question & { ask: 'count' }
  >;
  await fc.assert(
    fc.asyncProperty(asked, fc.constantFrom(...CONFINED), async ({ filters }, name) => {
      const { key } = service.partner(name);
      const count = await service.get(pathOf({ ask: 'count', filters }), { key });
      const list = await askAll(service.partner(name), { ask: 'list', kind: 'solicitations', filters, limits: [100] });
      expect(JSON.parse(count.body)).toEqual({ total: list.flatMap(dataOf).length });
    }),
    { seed: 20_260_418, numRuns: 100 },
  );
}, 60_000);

test("another partner's cursor is refused like one that was made up", async () => {
  for (const kind of ['contracts', 'suppliers', 'lead-entities', 'coops', 'certifications', 'city-services']) {
    const page = await service.get(`/v1/${kind}?limit=1`, { key: service.partner('everything').key });
    const { next_cursor } = (JSON.parse(page.body) as { meta: { next_cursor: string } }).meta;
    const { key } = service.partner('mixed');
    const foreign = await service.get(`/v1/${kind}?limit=1&cursor=${next_cursor}`, { key });
    const invented = await service.get(`/v1/${kind}?limit=1&cursor=made-up`, { key });
    expect(foreign.status).toBe(400);
    expect(comparable(foreign)).toEqual(comparable(invented));
  }
});

/** Ids (and refs, as text) of all records that the model does not show to a partner. */
function hiddenFrom({ scope }: TestPartner): { ids: Set<string>; refs: Set<string> } {
  const { records: all } = model;
  const visible = model.visible(scope);
  const missing = (ids: Iterable<string>, shown: { has(id: string): boolean }): string[] =>
    [...ids].filter((id) => !shown.has(id));
  return {
    ids: new Set([
      ...missing(all.contracts.keys(), visible.contracts),
      ...missing(all.suppliers.keys(), visible.suppliers),
      ...missing(all.solicitations.keys(), visible.solicitations),
      ...missing(all.leadEntities.keys(), visible.leadEntities),
      ...missing(all.coops.keys(), visible.coops),
    ]),
    refs: new Set(
      [...all.solicitations.values()].filter(({ id }) => !visible.solicitations.has(id)).map(({ ref }) => String(ref)),
    ),
  };
}

/** The same request with hidden ids replaced by one that does not exist; null if it contains none. */
function withoutHidden(question: Question, { ids, refs }: { ids: Set<string>; refs: Set<string> }): Question | null {
  if (question.ask === 'detail') {
    return ids.has(question.id) || refs.has(question.id) ? { ...question, id: NO_SUCH_ID } : null;
  }
  const replaced = Object.entries(question.filters).map(([name, value]) =>
    ['lead_entity', 'coop', 'supplier'].includes(name) && ids.has(value) ? [name, NO_SUCH_ID] : [name, value],
  );
  const filters = Object.fromEntries(replaced) as Record<string, string>;
  return JSON.stringify(filters) === JSON.stringify(question.filters) ? null : { ...question, filters };
}

function askAll({ key }: TestPartner, question: Question): Promise<Answer[]> {
  const path = pathOf(question);
  return question.ask === 'list'
    ? service.walk(path, key, [100])
    : service.get(path, { key }).then((answer) => [answer]);
}

/** Asserts that every partner that sees a record gets the same text for it. */
function expectPartOf(some: object[], all: object[]): void {
  const texts = new Set(all.map((record) => JSON.stringify(record)));
  expect(some.filter((record) => !texts.has(JSON.stringify(record)))).toEqual([]);
}

function stringsIn(body: string): string[] {
  const strings: string[] = [];
  JSON.parse(body, (_, value: unknown) => {
    if (typeof value === 'string') strings.push(value);
    return value;
  });
  return strings;
}

function comparable(answer: Answer): object {
  const headers = Object.entries(answer.headers).filter(([name]) => !CHANGING_HEADERS.has(name));
  return { status: answer.status, headers, body: withoutRequestId(answer) };
}
