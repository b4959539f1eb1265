import fc from 'fast-check';
import { beforeAll, expect, inject, test } from 'vitest';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import { issueKeyText } from '../../src/access/keys.ts';
import { suspendPartner } from '../../src/access/partner-admin.ts';
import { readPath } from '../../src/http/request/request-head.ts';
import { isIndexed, KINDS_AS_LISTED } from '../../src/kinds.ts';
import { nextCursorOf } from '../support/client.ts';
import { createDirectories } from '../support/data.ts';
import { readRecords } from '../model/records.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { exchangeBytes, parseResponses, type RawResponse } from '../support/network/raw-http.ts';
import { startService, TEST_NOW } from '../support/service.ts';
import { allowedStatuses, headOf, renderRequest } from './allowed-statuses.ts';
import { ResponseContract, decodeBody } from './response-contract.ts';
import { malformedBytes } from './malformed-bytes.ts';
import { fuzzRequests, type FuzzMaterial, type FuzzRequest, type IssuedCursor } from './fuzz-requests.ts';
import { readOpenApiDocument } from '../support/openapi-document.ts';
import { fuzz, fuzzRuns } from './seeds.ts';

/** The total number of requests, shared by the fixed seeds and a fresh one. */
const REQUESTS = 9_000;
const MALFORMED_REQUESTS = 3_000;
const MAX_RUN_MS = 60 * 60_000;

/** Partners with valid keys that see everything, something and nothing. */
const PARTNERS = [
  { name: 'everything', everything: true },
  { name: 'some', leadEntities: ['gen_le_a0', 'le_city_of_pittsburgh_d85d'], coops: ['gen_co_b_2'] },
  { name: 'nothing' },
];

let material: FuzzMaterial;
let port: number;
const failures: string[] = [];
const document = readOpenApiDocument();
const contract = new ResponseContract(document);

const records = forAllTests(() => createDirectories(5));
const service = forAllTests(
  () =>
    startService({
      // Only the log has the cause of a 500.
      onLog: (line) => {
        if (line.includes('"level":50')) failures.push(line);
      },
      directories: records.first,
      partners: [
        ...PARTNERS,
        { name: 'suspended', everything: true },
        { name: 'confined', everything: true, kinds: ['contracts'] },
      ],
    }),
  120_000,
);
beforeAll(async () => {
  port = Number(new URL(service.url).port);
  material = await gatherMaterial();
}, 120_000);

/** Collects keys of every kind, ids and values of stored records, and issued cursors. */
async function gatherMaterial(): Promise<FuzzMaterial> {
  const { database } = service;
  const clock = (): number => Date.parse(TEST_NOW);
  const keyOf = (name: string): string => service.partner(name).key;
  await suspendPartner(database, clock, 'suspended');
  const revoked = await issueKey(database, clock, 'everything', { environment: 'test', lifetimeMs: null });
  await revokeKey(database, clock, revoked.details.id);
  const expired = await issueKey(database, () => clock() - 2, 'everything', { environment: 'test', lifetimeMs: 1 });
  const live = await issueKey(database, clock, 'everything', { environment: 'live', lifetimeMs: null });
  const bad = [revoked.key, expired.key, live.key, issueKeyText('test').key, issueKeyText('live').key];
  await service.noticeChanges();
  const known = readRecords(service.published);
  const some = (values: Iterable<string>): string[] => fc.sample(fc.constantFrom(...values), { numRuns: 60, seed: 7 });
  const certifications = [...known.certifications.values()];
  return {
    keys: {
      good: PARTNERS.map(({ name }) => keyOf(name)),
      suspended: keyOf('suspended'),
      confined: keyOf('confined'),
      bad,
    },
    known: {
      q: ['road', 'fire safety', 'RFP', 'services', 'a', 'c s', 'école'],
      lead_entity: some(known.leadEntities.keys()),
      coop: some(known.coops.keys()),
      supplier: some(known.suppliers.keys()),
      city_service: some(known.cityServices.keys()),
      certifications: certifications.flatMap(({ name, abbreviation }) => [
        name,
        abbreviation,
        `${abbreviation},${name}`,
      ]),
      state: ['PA', 'tx', 'ZZ'],
    },
    ids: {
      '/v1/contracts/{id}': some(known.contracts.keys()),
      '/v1/suppliers/{id}': some(known.suppliers.keys()),
      '/v1/solicitations/{id}': some([...known.solicitations.values()].flatMap(({ id, ref }) => [id, String(ref)])),
    },
    cursors: (await Promise.all(PARTNERS.slice(0, 2).map(({ name }) => cursorsOf(keyOf(name))))).flat(),
  };
}

async function cursorsOf(key: string): Promise<IssuedCursor[]> {
  const requests = KINDS_AS_LISTED.flatMap((list) => [
    { path: `/v1/${list}`, query: '' },
    ...(isIndexed(list) ? [{ path: `/v1/${list}`, query: 'q=s&' }] : []),
  ]);
  const issued = await Promise.all(
    requests.map(async ({ path, query }) => {
      const cursor = nextCursorOf(await service.get(`${path}?${query}limit=1`, { key }));
      return { key, path, query, cursor };
    }),
  );
  return issued.filter((each): each is IssuedCursor => each.cursor !== null);
}

/** Sends a request as bytes, from its own address, so that failed authentications of others do not count against it. */
async function send(bytes: string, from: string, isHead = false): Promise<RawResponse> {
  const [response, ...others] = parseResponses(await exchangeBytes(port, [bytes], { from }), () => isHead);
  // Excess bytes would be read as the response to the next request.
  expect(others).toEqual([]);
  if (response === undefined) throw new Error(`no response to ${headOf(bytes)}`);
  return response;
}

const addresses = fc
  .tuple(fc.nat(255), fc.nat(255), fc.integer({ min: 1, max: 254 }))
  .map(([a, b, c]) => `127.${a}.${b}.${c}`);

/**
 * Asserts that repeating a request gives the same response: on another connection, with another encoding,
 * conditionally, and by HEAD.
 */
async function expectSameResponseAgain({ target, authorization }: FuzzRequest, response: RawResponse): Promise<void> {
  const text = decodeBody(response.headers, response.body);
  const key = authorization.key ?? '';
  const url = target.path + target.query.text;
  const etag = String(response.headers.get('etag'));
  const again = await service.get(url, { key });
  expect([again.status, again.body, again.headers.etag]).toEqual([200, text, etag]);
  const unchanged = await service.get(url, { key, headers: { 'if-none-match': etag } });
  expect([unchanged.status, unchanged.body, unchanged.headers.etag]).toEqual([304, '', etag]);
  const head = await service.get(url, { key, method: 'HEAD' });
  expect([head.status, head.body, head.headers.etag]).toEqual([200, '', etag]);
}

test.each(fuzzRuns('http', REQUESTS))(
  'every request, valid or invalid, gets one response that conforms to the API (seed $seed, $runs requests)',
  async (run) => {
    const tally = new Map<number, number>();
    await fuzz('http', run, fc.tuple(fuzzRequests(document, material), addresses), async ([request, from]) => {
      const bytes = renderRequest(request);
      failures.length = 0;
      let response = await send(bytes, from, request.method === 'HEAD');
      // On a busy machine, waiting for a PostgreSQL connection can time out.
      if (failures.some((line) => line.includes('DatabaseUnavailableError'))) {
        failures.length = 0;
        response = await send(bytes, from, request.method === 'HEAD');
      }
      const { target, authorization } = request;
      tally.set(response.status, (tally.get(response.status) ?? 0) + 1);
      expect([...allowedStatuses(request)], headOf(bytes) + failures.join('')).toContain(response.status);
      expect(failures).toEqual([]);
      const path = readPath(target.path + target.query.text);
      const faults = contract.faultsOf(
        { method: request.method, path, hasValidKey: authorization.holder !== null },
        response,
      );
      expect(faults, headOf(bytes)).toEqual([]);
      const sent = response.body.toString('latin1') + [...response.headers.values()].join();
      for (const key of material.keys.good) expect(sent.includes(key), 'a key in a response').toBe(false);
      if (response.status === 200 && request.method === 'GET' && target.template?.startsWith('/v1') === true) {
        await expectSameResponseAgain(request, response);
      }
    });
    // Not nearly everything is rejected, and no kind of rejection is missing.
    for (const status of [200, 304, 400, 401, 403, 404, 405]) {
      expect(tally.get(status) ?? 0, `responses with ${status}`).toBeGreaterThan(run.runs / 500);
    }
    if (run.runs > REQUESTS) process.stderr.write(`${inject('engine')}: ${JSON.stringify([...tally])}\n`);
  },
  MAX_RUN_MS,
);

test.each(fuzzRuns('bytes', MALFORMED_REQUESTS))(
  'malformed bytes get conforming responses or none, and harm no other client (seed $seed, $runs requests)',
  async (run) => {
    const good = material.keys.good[0] ?? '';
    const request = fuzzRequests(document, material).map(renderRequest);
    await fuzz('bytes', run, fc.tuple(malformedBytes(request), addresses), async ([bytes, from]) => {
      const received = await exchangeBytes(port, [bytes], { from, ends: true });
      // Mutated bytes can be several requests, and the response to HEAD cannot be recognized.
      if (/HEAD/i.test(bytes)) return;
      // The parser refuses what follows a request, and resets the connection on which its response is being streamed.
      for (const response of parseResponses(received, undefined, { mayBeCut: true })) {
        expect(contract.faultsOf(null, response)).toEqual([]);
      }
    });
    expect((await service.get('/v1/coops', { key: good })).status).toBe(200);
  },
  MAX_RUN_MS,
);
