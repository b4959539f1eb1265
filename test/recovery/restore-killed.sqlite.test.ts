import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { pino } from 'pino';
import { beforeAll, expect, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { startServing } from '../../src/commands/serve/serving.ts';
import { readConfig } from '../../src/config.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { restore } from '../../src/recovery/restore.ts';
import { runKilledAt } from '../commands/run-pds.ts';
import { createClient, dataOf } from '../support/client.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { expectIntact } from '../support/sqlite-files.ts';
import { activePartners, cityNames, createBackedUp, renameCity } from './backed-up.ts';

const OLD = ['Renamed since', 'City of B'];
const NEW = ['City of A', 'City of B'];

let key: string;

const files = forAllTests(createBackedUp);
beforeAll(async () => {
  await files.use(async (database) => {
    ({ key } = await issueKey(database, Date.now, 'acme', { environment: 'test', lifetimeMs: null }));
  });
  await files.backUp();
  await files.use((database) => renameCity(database, 'Renamed since'));
  files.save();
});

/** Runs `pds restore` on a fresh copy of the database; returns whether it completed. */
function restoreKilled(killAt: number, ...options: string[]): Promise<boolean> {
  files.reset();
  return runKilledAt(killAt, ['restore', files.target, '--yes', ...options], files.settings);
}

/** Asserts that both files are intact and that the service can serve them; returns the names of the lead entities. */
async function namesOfWhole(): Promise<string[]> {
  const names = await files.use(async (database) => {
    await expectIntact(database);
    return cityNames(database);
  });
  const config = { ...readConfig({ PDS_PORT: '0' }), database: { engine: 'sqlite' as const, path: files.path } };
  await using opened = new AsyncDisposableStack();
  const serving = await startServing(config, pino({ level: 'silent' }));
  opened.defer(() => serving.close());
  const client = createClient(serving.origin);
  opened.defer(() => client.close());
  const { status, headers } = await client.get('/v1/contracts', { key });
  expect(status).toBe(200);
  expect(headers['x-sync-watermark']).toMatch(/^20/);
  expect(dataOf(await client.get('/v1/lead-entities', { key })).map(({ name }) => name)).toEqual(names);
  return names;
}

async function expectWholeThenFinished(isDone: boolean): Promise<'old' | 'new'> {
  const names = await namesOfWhole();
  expect([OLD, NEW]).toContainEqual(names);
  if (isDone) expect(names).toEqual(NEW);
  await restore(files.path, files.target, { clock: Date.now });
  expect(await namesOfWhole()).toEqual(NEW);
  // The catalog that was replaced still exists, and no other one does.
  expect(readdirSync(dirname(files.path)).filter((name) => name.startsWith('pds.catalog-'))).toHaveLength(2);
  return names[0] === OLD[0] ? 'old' : 'new';
}

test('a restore killed before any file operation leaves the old or the new database, complete, and can be run again', async () => {
  const found: ('old' | 'new')[] = [];
  for (let killAt = 0; ; killAt += 1) {
    const isDone = await restoreKilled(killAt);
    found.push(await expectWholeThenFinished(isDone));
    if (isDone) break;
  }
  // Every kill before the event leaves the old catalog, every later kill the new one. Both occur, not
  // counting the run that completed.
  expect(found).toEqual([...found].sort().reverse());
  expect(found.filter((state) => state === 'old').length).toBeGreaterThan(1);
  expect(found.slice(0, -1)).toContain('new');
}, 280_000);

test('a restore with --access killed before any file operation does too, and no partner is active in the new one', async () => {
  const found: boolean[] = [];
  for (let killAt = 0; ; killAt += 1) {
    const isDone = await restoreKilled(killAt, '--access');
    const look = async (database: OpenDatabase) => ({
      names: await cityNames(database),
      active: await activePartners(database),
    });
    const { names, active } = await files.use(look);
    expect([OLD, NEW]).toContainEqual(names);
    const isNew = names[0] === NEW[0];
    expect(active).toBe(isNew ? 0 : 2);
    found.push(isNew);
    if (isDone) break;
    await restore(files.path, files.target, { clock: Date.now, withAccess: true });
    expect(await files.use(look)).toEqual({ names: NEW, active: 0 });
  }
  expect(found).toEqual(found.toSorted());
  expect(found.filter((isNew) => !isNew).length).toBeGreaterThan(4);
  expect(found.slice(0, -1)).toContain(true);
}, 280_000);
