import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import type { Model } from '../model/model.ts';
import { requestsAbout, type ModelRequest } from '../model/requests.ts';
import { dataOf, type HttpResponse } from '../support/client.ts';
import { forAllTests } from '../support/lifetimes.ts';
import type { TestPartner } from '../support/partners.ts';
import { numberOfRuns } from '../support/runs.ts';
import type { TestService } from '../support/service.ts';
import { pathOf, withoutRequestId, startModelledService } from './modelled-service.ts';

const REQUESTS = numberOfRuns({ usually: 400, nightly: 1_000 });

/** Two partners whose scopes overlap only in suppliers and reference lists. */
const CONFINED = ['one-lead-entity', 'mixed'] as const;

/** Headers that differ between equal requests. */
const CHANGING_HEADERS = new Set(['date', 'x-request-id', 'ratelimit', 'ratelimit-policy']);

const NO_SUCH_ID = 'no_such_id';

let service: TestService;
let model: Model;

const started = forAllTests(() => startModelledService(3), 120_000);
beforeAll(() => {
  ({ service, model } = started);
}, 120_000);

test("records outside a partner's scope are in none of its responses, and a request for them gets the response for records that do not exist", async () => {
  const everything = service.partner('everything');
  const confined = CONFINED.map((name) => ({ ...service.partner(name), ...hiddenFrom(service.partner(name)) }));
  const tally = { hiddenRecords: 0, hiddenFilters: 0, recordsShown: 0 };
  const requests = requestsAbout(
    model,
    service.published.map(({ publishedAt }) => publishedAt),
  );
  await fc.assert(
    fc.asyncProperty(requests, async (request) => {
      for (const partner of confined) {
        const responses = await getAll(partner, request);
        for (const response of responses)
          expect(stringsIn(response.body).filter((text) => partner.ids.has(text))).toEqual([]);
        if (request.type === 'list') {
          const records = dataOf(...responses);
          tally.recordsShown += records.length;
          // Partners whose grants have other timestamps get other syncs.
          const isComparable = records.length > 0 && request.filters['updated_since'] === undefined;
          if (isComparable) expectPartOf(records, dataOf(...(await getAll(everything, request))));
        }
        const unknown = withoutHidden(request, partner);
        if (unknown === null) continue;
        tally[request.type === 'detail' ? 'hiddenRecords' : 'hiddenFilters'] += 1;
        expect(responses.map(comparable)).toEqual((await getAll(partner, unknown)).map(comparable));
      }
    }),
    { seed: 20_260_417, numRuns: REQUESTS },
  );
  // Enough requests were about hidden records, and enough returned records.
  expect(tally.hiddenRecords).toBeGreaterThan(REQUESTS / 10);
  expect(tally.hiddenFilters).toBeGreaterThan(REQUESTS / 10);
  expect(tally.recordsShown).toBeGreaterThan(REQUESTS);
}, 120_000);

test('a count equals the number of records in the list, for every partner', async () => {
  const requests = requestsAbout(model, []).filter(({ type }) => type === 'count') as fc.Arbitrary<
    ModelRequest & { type: 'count' }
  >;
  await fc.assert(
    fc.asyncProperty(requests, fc.constantFrom(...CONFINED), async (request, name) => {
      const { key } = service.partner(name);
      const count = await service.get(pathOf(request), { key });
      const list = await getAll(service.partner(name), { ...request, type: 'list', limits: [100] });
      expect(JSON.parse(count.body)).toEqual({ total: dataOf(...list).length });
    }),
    { seed: 20_260_418, numRuns: 100 },
  );
}, 60_000);

test("another partner's cursor is rejected like a forged one", async () => {
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
  const missing = (ids: Iterable<string>, found: { has(id: string): boolean }): string[] =>
    [...ids].filter((id) => !found.has(id));
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
function withoutHidden(
  request: ModelRequest,
  { ids, refs }: { ids: Set<string>; refs: Set<string> },
): ModelRequest | null {
  if (request.type === 'detail') {
    return ids.has(request.id) || refs.has(request.id) ? { ...request, id: NO_SUCH_ID } : null;
  }
  const replaced = Object.entries(request.filters).map(([name, value]) =>
    ['lead_entity', 'coop', 'supplier'].includes(name) && ids.has(value) ? [name, NO_SUCH_ID] : [name, value],
  );
  const filters = Object.fromEntries(replaced) as Record<string, string>;
  return JSON.stringify(filters) === JSON.stringify(request.filters) ? null : { ...request, filters };
}

function getAll({ key }: TestPartner, request: ModelRequest): Promise<HttpResponse[]> {
  const path = pathOf(request);
  return request.type === 'list'
    ? service.listAllPages(path, key, [100])
    : service.get(path, { key }).then((response) => [response]);
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

function comparable(response: HttpResponse): object {
  const headers = Object.entries(response.headers).filter(([name]) => !CHANGING_HEADERS.has(name));
  return { status: response.status, headers, body: withoutRequestId(response) };
}
