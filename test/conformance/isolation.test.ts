import fc from 'fast-check';
import { expect, test } from 'vitest';
import { requestsAbout, type ModelRequest } from '../model/requests.ts';
import { dataOf, nextCursorOf, type HttpResponse } from '../support/client.ts';
import { forAllTests } from '../support/lifetimes.ts';
import type { TestPartner } from '../support/partners.ts';
import { numberOfRuns } from '../support/runs.ts';
import { pathOf, withoutRequestId, startModelledService } from './modelled-service.ts';

const REQUESTS = numberOfRuns({ usually: 400, nightly: 1_000 });

/** Two partners whose scopes overlap only in suppliers and reference lists. */
const CONFINED = ['one-lead-entity', 'mixed'] as const;

/** Headers that differ between equal requests. */
const CHANGING_HEADERS = new Set(['date', 'x-request-id', 'ratelimit', 'ratelimit-policy']);

const NO_SUCH_ID = 'no_such_id';

const started = forAllTests(() => startModelledService(3), 120_000);

test("records outside a partner's scope are in none of its responses, and a request for them gets the response for records that do not exist", async () => {
  const { service, model } = started;
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

test("another partner's cursor is rejected like a forged one", async () => {
  const { service } = started;
  for (const kind of ['contracts', 'suppliers', 'lead-entities', 'coops', 'certifications', 'city-services']) {
    const page = await service.get(`/v1/${kind}?limit=1`, { key: service.partner('everything').key });
    const { key } = service.partner('mixed');
    const foreign = await service.get(`/v1/${kind}?limit=1&cursor=${nextCursorOf(page)}`, { key });
    const invented = await service.get(`/v1/${kind}?limit=1&cursor=made-up`, { key });
    expect(foreign.status).toBe(400);
    expect(comparable(foreign)).toEqual(comparable(invented));
  }
});

/** Ids (and refs, as text) of all records that the model does not show to a partner. */
function hiddenFrom({ scope }: TestPartner): { ids: Set<string>; refs: Set<string> } {
  const { records: all } = started.model;
  const visible = started.model.visible(scope);
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
    ? started.service.listAllPages(path, key, [100])
    : started.service.get(path, { key }).then((response) => [response]);
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
