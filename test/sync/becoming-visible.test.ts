import { beforeEach, describe, expect, test } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import {
  contract,
  publishLines,
  SMALL_CATALOG,
  solicitation,
  supplier,
  type ImportLines,
} from '../support/publishing.ts';
import { idsOf, nextCursorOf } from '../support/client.ts';
import { serviceForEachTest, startService } from '../support/service.ts';

let nowMs = Date.parse('2026-06-01T12:00:00.000Z');
const clock = (): number => (nowMs += 1_000);
let since: Record<string, string>;

const service = serviceForEachTest({
  catalog: { ...SMALL_CATALOG, suppliers: [...SMALL_CATALOG.suppliers, supplier('sup_idle')] },
  clock,
  partners: [
    { name: 'all', everything: true },
    { name: 'a', leadEntities: ['le_a'] },
    { name: 'x', coops: ['co_x'] },
  ],
});
beforeEach(async () => {
  since = {};
  for (const partner of ['all', 'a', 'x']) await sync(partner, 'suppliers');
});

const importLines = (lines: ImportLines) => publishLines(service.database, lines, { clock });

/** The ids that a sync receives; the next sync continues from its watermark. */
async function sync(partner: string, kind: 'contracts' | 'suppliers' | 'solicitations'): Promise<string[]> {
  const query = since[partner] === undefined ? '' : `?updated_since=${since[partner]}`;
  const pages = await service.listAllPages(`/v1/${kind}${query}`, service.partner(partner).key, [100]);
  since[partner] = String(pages[0]?.headers['x-sync-watermark']);
  return idsOf(...pages);
}

describe('an incremental sync includes', () => {
  test('an unchanged supplier when a contract visible to the partner starts to reference it', async () => {
    await importLines({ contracts: [{ ...contract('ctr_1'), supplier_ids: ['sup_idle'] }] });
    expect(await sync('a', 'suppliers')).toEqual(['sup_idle']);
    expect(await sync('x', 'suppliers')).toEqual(['sup_idle']);
    expect(await sync('all', 'suppliers')).toEqual([]);
  });

  test('a supplier again when the contract that references it dropped it and added it back', async () => {
    await importLines({ contracts: [{ ...contract('ctr_1'), supplier_ids: [] }] });
    expect(await sync('a', 'suppliers')).toEqual([]);
    await importLines({ contracts: [contract('ctr_1')] });
    expect(await sync('a', 'suppliers')).toEqual(['sup_1']);
  });

  test('a supplier whose contract moves to a lead entity or coop of the partner', async () => {
    await importLines({ contracts: [{ ...contract('ctr_2'), lead_entity_id: 'le_b', supplier_ids: ['sup_2'] }] });
    expect(await sync('x', 'suppliers')).toEqual(['sup_2']);
    expect(await sync('a', 'suppliers')).toEqual([]);
  });

  test('all records of a lead entity when it is granted, and again when it was revoked in between', async () => {
    const grants = { everything: false, leadEntities: ['le_b'], coops: [] };
    await grant(service.database, clock, 'a', grants);
    const atGrant = since['a'];
    expect(await sync('a', 'solicitations')).toEqual(['sol_2']);
    since['a'] = atGrant ?? '';
    expect(await sync('a', 'contracts')).toEqual(['ctr_2']);
    since['a'] = atGrant ?? '';
    expect(await sync('a', 'suppliers')).toEqual(['sup_2']);
    expect(await sync('a', 'suppliers')).toEqual([]);
    await revoke(service.database, clock, 'a', grants);
    // Until then, the cached response to the same request can be served.
    await service.noticeChanges();
    expect(await sync('a', 'suppliers')).toEqual([]);
    await grant(service.database, clock, 'a', grants);
    expect(await sync('a', 'suppliers')).toEqual(['sup_2']);
  });

  test('a draft once it is open, and until then nobody gets it by its id either', async () => {
    const draft = { ...solicitation('sol_3', 3), status: 'draft' };
    await importLines({ solicitations: [draft] });
    expect(await sync('a', 'solicitations')).toEqual([]);
    for (const name of ['all', 'a'])
      expect((await service.get('/v1/solicitations/sol_3', { key: service.partner(name).key })).status).toBe(404);
    await importLines({ solicitations: [{ ...draft, status: 'open' }] });
    expect(await sync('a', 'solicitations')).toEqual(['sol_3']);
  });

  test('the contracts and solicitations of a renamed lead entity', async () => {
    await importLines({ 'lead-entities': [{ id: 'le_a', name: 'Town of A' }] });
    const before = since['a'];
    expect(await sync('a', 'contracts')).toEqual(['ctr_1']);
    since['a'] = before ?? '';
    expect(await sync('a', 'solicitations')).toEqual(['sol_1']);
  });
});

test('without any release, the watermark is that of the creation of the partner', async () => {
  await using empty = await startService({ clock, partners: [{ name: 'none' }] });
  const { headers } = await empty.get('/v1/contracts', { key: empty.partner('none').key });
  const { at: createdAt } = await empty.database.kysely
    .selectFrom('access.events')
    .select('at')
    .where('narrows', '=', 'creation')
    .executeTakeFirstOrThrow();
  expect(headers['x-sync-watermark']).toBe(new Date(Date.parse(createdAt) + 1).toISOString());
});

test('the watermark is one millisecond after the last event, the same on all pages of a listing, and sent with a 304', async () => {
  const { key } = service.partner('all');
  await importLines({ coops: [{ id: 'co_y', name: 'Y' }] });
  const { last } = await service.database.kysely
    .selectFrom('catalog.releases')
    .select((eb) => eb.fn.max('at').as('last'))
    .executeTakeFirstOrThrow();
  const watermark = new Date(Date.parse(last) + 1).toISOString();
  const first = await service.get('/v1/suppliers?limit=1', { key });
  expect(first.headers['x-sync-watermark']).toBe(watermark);
  await importLines({ coops: [{ id: 'co_z', name: 'Z' }] });
  const cursor = nextCursorOf(first);
  const second = await service.get(`/v1/suppliers?limit=1&cursor=${cursor}`, { key });
  expect(second.headers['x-sync-watermark']).toBe(watermark);
  const again = await service.get(`/v1/suppliers?limit=1&cursor=${cursor}`, {
    key,
    headers: { 'If-None-Match': String(second.headers.etag) },
  });
  expect(again).toMatchObject({ status: 304, body: '' });
  expect(again.headers['x-sync-watermark']).toBe(watermark);
});
