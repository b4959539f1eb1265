import { expect, test } from 'vitest';
import { grant } from '../../src/access/grant-admin.ts';
import { serviceForAllTests } from '../support/service.ts';
import { Copy, KINDS } from './copy.ts';
import { firstCatalog, LEAD_ENTITIES, PARTNERS, startWriter } from './writer-process.ts';

const ROUNDS = 60;

const service = serviceForAllTests({
  catalog: firstCatalog(),
  clock: Date.now,
  partners: [
    { name: 'all', everything: true },
    { name: 'some', leadEntities: LEAD_ENTITIES.slice(0, 2) },
    { name: 'few' },
  ],
});

test('a sync misses nothing that changed or became visible during concurrent imports and grants', async () => {
  const database = service.databaseConfig;
  const writing = new AbortController();
  const writers = Promise.all([
    startWriter({ database, role: 'importer', seed: 1, rounds: ROUNDS, clockSkewMs: 0 }).exited,
    startWriter({ database, role: 'importer', seed: 2, rounds: ROUNDS, clockSkewMs: 4_000 }).exited,
    startWriter({ database, role: 'granter', seed: 3, rounds: 2 * ROUNDS, clockSkewMs: 4_000 }).exited,
  ]).finally(() => writing.abort());

  const copies = PARTNERS.flatMap((name) =>
    KINDS.map((kind) => ({ name, copy: new Copy(kind, service.partner(name).key, service.get) })),
  );
  let syncs = 0;
  while (!writing.signal.aborted) {
    for (const { copy } of copies) await copy.sync();
    syncs += copies.length;
  }
  expect(await writers).toEqual([0, 0, 0]);
  // Asserts that syncs and writes overlapped.
  expect(syncs).toBeGreaterThan(5 * copies.length);

  await service.noticeChanges();
  for (const { name, copy } of copies) {
    await copy.sync();
    for (const record of await copy.listAll())
      expect(copy.records.get(record.id), `${name}: ${record.id}`).toEqual(record);
    // Without changes, a sync receives nothing.
    expect(await copy.sync()).toBe(0);
  }
}, 120_000);

test('a record that a grant makes visible is received once, however old it is', async () => {
  const copy = new Copy('suppliers', service.partner('few').key, service.get);
  await copy.sync();
  await grant(service.database, Date.now, 'few', { everything: true, leadEntities: [], coops: [] });
  await service.noticeChanges();
  await copy.sync();
  expect(copy.records.size).toBe(
    (await new Copy('suppliers', service.partner('all').key, service.get).listAll()).length,
  );
  expect(await copy.sync()).toBe(0);
});
