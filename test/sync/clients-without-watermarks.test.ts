import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { EPOCH } from '../../src/timestamp.ts';
import { idsOf } from '../support/client.ts';
import { contract, publishLines, SMALL_CATALOG, solicitation, supplier } from '../support/publishing.ts';
import { serviceForEachTest, startService } from '../support/service.ts';
import { Copy, KINDS } from './copy.ts';
import { evenClock, firstCatalog, LEAD_ENTITIES, PARTNERS, startWriter } from './writer-process.ts';

const SECOND_MS = 1_000;
const iso = (ms: number): string => new Date(ms).toISOString();

describe('an updated_since that is not a watermark', () => {
  let nowMs = Date.parse('2026-06-01T12:00:00.000Z');
  const clock = (): number => nowMs;
  /** The time of the last import of each kind. */
  let releasedMs: number;

  const service = serviceForEachTest({
    catalog: SMALL_CATALOG,
    clock,
    partners: [
      { name: 'all', everything: true },
      { name: 'a', leadEntities: ['le_a'] },
    ],
  });
  beforeEach(async () => {
    nowMs += 3_600 * SECOND_MS;
    const name = 'Renamed';
    await publishLines(
      service.database,
      {
        contracts: ['ctr_1', 'ctr_2'].map((id) => ({ ...contract(id), name })),
        suppliers: ['sup_1', 'sup_2'].map((id) => ({ ...supplier(id), name })),
        solicitations: [1, 2].map((ref) => ({ ...solicitation(`sol_${ref}`, ref), title: name })),
      },
      { clock },
    );
    releasedMs = nowMs;
    await service.noticeChanges();
  });

  const read = async (path: string, sinceMs: number, partner = 'all', limits = [100]): Promise<string[]> => {
    const pages = await service.listAllPages(
      `/v1/${path}?updated_since=${iso(sinceMs)}`,
      service.partner(partner).key,
      limits,
    );
    return idsOf(...pages);
  };
  const count = async (sinceMs: number): Promise<number> => {
    const { body } = await service.get(`/v1/solicitations/count?updated_since=${iso(sinceMs)}`, {
      key: service.partner('all').key,
    });
    return (JSON.parse(body) as { total: number }).total;
  };

  test('returns what changed up to five seconds earlier, on every page and in the count', async () => {
    for (const kind of KINDS) {
      const changed = (await read(kind, releasedMs)).toSorted();
      expect(changed.length).toBeGreaterThanOrEqual(2);
      // The clock of a client that began its last sync when the release had its timestamp, but was not yet visible.
      for (const laterMs of [2, 400, 5 * SECOND_MS]) {
        expect(await read(kind, releasedMs + laterMs), `${kind} ${laterMs}`).toEqual(changed);
        expect(await read(kind, releasedMs + laterMs, 'all', [1]), `${kind} ${laterMs}`).toEqual(changed);
      }
      expect(await read(kind, releasedMs + 5 * SECOND_MS + 1)).toEqual([]);
    }
    expect(await count(releasedMs + 400)).toBe(2);
    expect(await count(releasedMs + 5 * SECOND_MS + 1)).toBe(0);
    // The greatest `updated_at` in a copy.
    nowMs = releasedMs + 3 * SECOND_MS;
    await publishLines(service.database, { contracts: [{ ...contract('ctr_2'), name: 'Again' }] }, { clock });
    await service.noticeChanges();
    expect(await read('contracts', nowMs)).toEqual(['ctr_1', 'ctr_2']);
  });

  test('never equals a watermark: with a watermark and no changes, lists and count are empty', async () => {
    for (const kind of KINDS) expect(await read(kind, releasedMs + 1)).toEqual([]);
    expect(await count(releasedMs + 1)).toBe(0);
  });

  test('never equals the watermark of a change of grants, even if grants are repeatedly revoked and restored', async () => {
    const { key } = service.partner('a');
    const watermarks: string[] = [];
    const leadEntity = { everything: false, leadEntities: ['le_b'], coops: [] };
    for (const change of [grant, revoke, grant, revoke]) {
      nowMs += 100;
      await change(service.database, clock, 'a', leadEntity);
      await service.noticeChanges();
      const { headers } = await service.get('/v1/contracts', { key });
      watermarks.push(String(headers['x-sync-watermark']));
    }
    expect(watermarks).toEqual([101, 201, 301, 401].map((laterMs) => iso(releasedMs + laterMs)));
    for (const watermark of watermarks) expect(await read('contracts', Date.parse(watermark), 'a')).toEqual([]);
    // It was not issued to another partner.
    expect(await read('contracts', Date.parse(String(watermarks[0])))).toEqual(['ctr_1', 'ctr_2']);
  });

  test('can be the updated_at of a record, even if the clock stands still during several imports', async () => {
    const { key } = service.partner('all');
    for (const name of ['One', 'Two', 'Three']) {
      await publishLines(service.database, { contracts: [{ ...contract('ctr_1'), name }] }, { clock });
    }
    await service.noticeChanges();
    const { body } = await service.get('/v1/contracts/ctr_1', { key });
    const { updated_at: updatedAt } = JSON.parse(body) as { updated_at: string };
    // Changed by the import before these three.
    expect(await read('contracts', Date.parse(updatedAt))).toContain('ctr_2');
  });
});

/** Syncs. A client that does not use watermarks passes its clock, or the greatest `updated_at` in its copy, next time. */
async function sync(copy: Copy, by: 'watermark' | 'clock' | 'updated_at'): Promise<void> {
  const beganAt = iso(evenClock());
  await copy.sync();
  const times = [...copy.records.values()].map((record) => String(record['updated_at'])).sort();
  if (by === 'clock') copy.since = beganAt;
  if (by === 'updated_at') copy.since = times.at(-1) ?? EPOCH;
}

test('clients that pass a watermark, their own clock or the greatest updated_at miss nothing during concurrent imports and grants', async () => {
  await using service = await startService({
    catalog: firstCatalog(),
    clock: evenClock,
    partners: [
      { name: 'all', everything: true },
      { name: 'some', leadEntities: LEAD_ENTITIES.slice(0, 2) },
      { name: 'few' },
    ],
  });
  const database = service.databaseConfig;
  const writing = new AbortController();
  const writers = Promise.all([
    startWriter({ database, role: 'importer', seed: 11, rounds: 40, clockSkewMs: 0 }).exited,
    startWriter({ database, role: 'importer', seed: 12, rounds: 40, clockSkewMs: 0 }).exited,
    startWriter({ database, role: 'granter', seed: 13, rounds: 40, clockSkewMs: 0 }).exited,
  ]).finally(() => writing.abort());
  const copies = KINDS.flatMap((kind) =>
    (['watermark', 'clock', 'updated_at'] as const).flatMap((by) =>
      PARTNERS.map((name) => ({ by, name, copy: new Copy(kind, service.partner(name).key, service.get) })),
    ),
  );
  let syncs = 0;
  while (!writing.signal.aborted) {
    for (const { copy, by } of copies) await sync(copy, by);
    syncs += copies.length;
    await delay(10);
  }
  expect(await writers).toEqual([0, 0, 0]);
  expect(syncs).toBeGreaterThan(3 * copies.length);
  await service.noticeChanges();
  for (const { by, name, copy } of copies) {
    await sync(copy, by);
    // Without changes, a sync with a watermark receives nothing.
    if (by === 'watermark') expect(await copy.sync()).toBe(0);
    for (const record of await copy.listAll()) {
      expect(copy.records.get(record.id), `${name} by ${by}: ${record.id}`).toEqual(record);
    }
  }
}, 120_000);
