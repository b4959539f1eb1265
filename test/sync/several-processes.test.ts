import { beforeEach, describe, expect, test } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { deletePartner, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import { idsOf, nextCursorOf, type HttpResponse } from '../support/client.ts';
import { contract, SMALL_CATALOG, solicitation, supplier } from '../support/publishing.ts';
import { serviceForEachTest, type ServingProcess } from '../support/service.ts';
import { FeedCopy, getChanges } from './feed-copy.ts';

let nowMs = Date.parse('2026-06-01T12:00:00.000Z');
const clock = (): number => (nowMs += 1_000);
const ofB = { everything: false, leadEntities: ['le_b'], coops: [] };
const ID_OF_B = { contracts: 'ctr_b1', suppliers: 'sup_b1', solicitations: 'sol_b1' };

const numbers = [1, 2, 3];
const service = serviceForEachTest({
  catalog: {
    ...SMALL_CATALOG,
    suppliers: [...SMALL_CATALOG.suppliers, ...numbers.map((number) => supplier(`sup_b${number}`))],
    contracts: [
      ...SMALL_CATALOG.contracts,
      ...numbers.map((number) => ({
        ...contract(`ctr_b${number}`),
        ...{ lead_entity_id: 'le_b', coop_id: null, supplier_ids: [`sup_b${number}`] },
      })),
    ],
    solicitations: [
      ...SMALL_CATALOG.solicitations,
      ...numbers.map((number) => ({ ...solicitation(`sol_b${number}`, 10 + number), lead_entity_id: 'le_b' })),
    ],
  },
  clock,
  partners: [{ name: 'a', leadEntities: ['le_a'] }],
  isPolling: false,
});
/** The process that lags behind: it does not poll, and knows the partner as it was at first. */
let stale: ServingProcess;
let key: string;

beforeEach(async () => {
  stale = await service.startOther();
  ({ key } = service.partner('a'));
});

const get = (server: ServingProcess, path: string): Promise<HttpResponse> => server.get(path, { key });
const grantB = () => grant(service.database, clock, 'a', ofB);
const revokeB = () => revoke(service.database, clock, 'a', ofB);

describe.each(['contracts', 'suppliers', 'solicitations'] as const)('%s', (kind) => {
  test('a grant during a sync loses nothing if a process that does not know of it serves the other pages', async () => {
    const before = await get(service, `/v1/${kind}`);
    await get(stale, `/v1/${kind}`);
    const since = `updated_since=${String(before.headers['x-sync-watermark'])}`;
    await grantB();
    let page = await get(service, `/v1/${kind}?${since}&limit=1`);
    const pages = [page];
    for (let cursor = nextCursorOf(page); cursor !== null; cursor = nextCursorOf(page)) {
      pages.push((page = await get(stale, `/v1/${kind}?${since}&limit=1&cursor=${cursor}`)));
    }
    const whole = await get(service, `/v1/${kind}?${since}&limit=100`);
    expect(idsOf(...pages)).toContain(ID_OF_B[kind]);
    expect(idsOf(...pages)).toEqual(idsOf(whole));
    expect(new Set(pages.map(({ headers }) => headers['x-sync-watermark']))).toEqual(
      new Set([whole.headers['x-sync-watermark']]),
    );
  });

  test('a revoked record is on no later page, even of a process that does not know of the revocation', async () => {
    await grantB();
    await stale.noticeChanges();
    const first = await get(stale, `/v1/${kind}?limit=1`);
    await revokeB();
    expect((await get(stale, `/v1/${kind}?limit=100&cursor=${nextCursorOf(first)}`)).body).not.toContain(ID_OF_B[kind]);
  });

  test('a detail is found after a grant and not found after a revocation that its process does not know of', async () => {
    const detail = () => get(stale, `/v1/${kind}/${ID_OF_B[kind]}`);
    expect((await detail()).status).toBe(404);
    await grantB();
    const found = await detail();
    expect(found.status).toBe(200);
    // Another URL, which is not cached: its statement shows the process the revocation.
    await detail();
    await revokeB();
    await get(stale, `/v1/${kind}?limit=7`);
    expect((await detail()).status).toBe(404);
    const again = await stale.get(`/v1/${kind}/${ID_OF_B[kind]}`, {
      key,
      headers: { 'If-None-Match': String(found.headers.etag) },
    });
    expect(again.status).toBe(404);
  });
});

test('a copy that has part of a release already is not compared with the numbers before it', async () => {
  const copy = new FeedCopy(key);
  await copy.sync(service.get);
  const { watermark } = copy;
  const poll = () => getChanges(stale.get, key, { updated_since: String(watermark) });
  expect((await poll()).items).toEqual([]);
  await grantB();
  await copy.read(service.get, { limit: 1 });
  // The listing begins again, at the process that has sent a response to this request before.
  const { items, meta } = await poll();
  expect(items.length).toBeGreaterThan(0);
  expect(meta?.totals).toEqual({ contracts: 5, solicitations: 5, suppliers: 5 });
});

test('counts, reference lists and the key show a grant that their process does not know of', async () => {
  const total = async (query = ''): Promise<number> =>
    (JSON.parse((await get(stale, `/v1/solicitations/count${query}`)).body) as { total: number }).total;
  const others = [
    ['/v1/lead-entities', 'le_b'],
    ['/v1/key', '"granted_lead_entities":2'],
  ] as const;
  // Each request is the first that sees a change of grants.
  expect(await total()).toBe(1);
  await grantB();
  // Another URL: what is cached stays good until the process learns of a change.
  expect(await total('?status=open')).toBe(5);
  expect(await total()).toBe(5);
  for (const [path, part] of others) {
    await revokeB();
    expect((await get(stale, path)).body).not.toContain(part);
    await grantB();
    expect((await get(stale, path)).body).toContain(part);
  }
});

test.each(['/v1/contracts', '/v1/contracts/ctr_1', '/v1/suppliers', '/v1/lead-entities'])(
  '%s is refused if its statement shows that the partner is suspended or limited to other kinds',
  async (path) => {
    expect((await get(stale, '/v1/key')).status).toBe(200);
    await setPartner(service.database, clock, 'a', { kinds: ['solicitations'] });
    expect((await get(stale, path)).status).toBe(403);
    await setPartner(service.database, clock, 'a', { kinds: null });
    await stale.noticeChanges();
    expect((await get(stale, '/v1/key')).status).toBe(200);
    await suspendPartner(service.database, clock, 'a');
    expect((await get(stale, path)).status).toBe(403);
  },
);

test('a page of a listing is refused once its partner was deleted', async () => {
  await grantB();
  const first = await get(stale, '/v1/suppliers?limit=1');
  await deletePartner(service.database, clock, 'a');
  expect((await get(stale, `/v1/suppliers?limit=1&cursor=${nextCursorOf(first)}`)).status).toBe(401);
});
