import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { startServing } from '../../src/commands/serve/serving.ts';
import { readConfig } from '../../src/config.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { restore } from '../../src/recovery/restore.ts';
import { createClient } from '../support/client.ts';
import { activePartners, cityNames, createBackedUp, renameCity, type BackedUp } from './backed-up.ts';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const KILL_AT = fileURLToPath(new URL('kill-at.ts', import.meta.url));

const OLD = ['Renamed since', 'City of B'];
const NEW = ['City of A', 'City of B'];

let made: BackedUp;
let data: string;
let pristine: string;
let key: string;

beforeAll(async () => {
  made = await createBackedUp();
  const { files } = made;
  data = dirname(files.path);
  pristine = join(files.folder, 'pristine');
  await files.use(async (database) => {
    ({ key } = await issueKey(database, Date.now, 'acme', { environment: 'test', lifetimeMs: null }));
  });
  await made.backUp();
  await files.use((database) => renameCity(database, 'Renamed since'));
  cpSync(data, pristine, { recursive: true });
});
afterAll(() => made.files.remove());

/** Runs `pds restore` on a fresh copy of the database; returns whether it completed. */
async function restoreKilled(killAt: number, options: readonly string[] = []): Promise<boolean> {
  rmSync(data, { recursive: true, force: true });
  cpSync(pristine, data, { recursive: true });
  const child = spawn(process.execPath, ['--import', KILL_AT, MAIN, 'restore', made.target, '--yes', ...options], {
    env: { PATH: process.env['PATH'], ...made.files.settings, KILL_AT: String(killAt) },
    stdio: 'ignore',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

/** Asserts that both files are intact and that the service can serve them; returns the names of the lead entities. */
async function namesOfWhole(): Promise<string[]> {
  const names = await made.files.use(async (database) => {
    for (const group of ['catalog', 'access']) {
      const { rows } = await sql.raw(`pragma ${group}.integrity_check`).execute(database.kysely);
      expect(rows).toEqual([{ integrity_check: 'ok' }]);
    }
    return cityNames(database);
  });
  const config = { ...readConfig({ PDS_PORT: '0' }), database: { engine: 'sqlite' as const, path: made.files.path } };
  const serving = await startServing(config, pino({ level: 'silent' }));
  const client = createClient(serving.origin);
  try {
    const { status, headers } = await client.get('/v1/contracts', { key });
    expect(status).toBe(200);
    expect(headers['x-sync-watermark']).toMatch(/^20/);
    const { body } = await client.get('/v1/lead-entities', { key });
    expect((JSON.parse(body) as { data: { name: string }[] }).data.map(({ name }) => name)).toEqual(names);
  } finally {
    client.close();
    await serving.close();
  }
  return names;
}

async function expectWholeThenFinished(isDone: boolean): Promise<'old' | 'new'> {
  const names = await namesOfWhole();
  expect([OLD, NEW]).toContainEqual(names);
  if (isDone) expect(names).toEqual(NEW);
  await restore(made.files.path, made.target, { clock: Date.now });
  expect(await namesOfWhole()).toEqual(NEW);
  // The catalog that was replaced still exists, and no other one does.
  expect(readdirSync(data).filter((name) => name.startsWith('pds.catalog-'))).toHaveLength(2);
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
    const isDone = await restoreKilled(killAt, ['--access']);
    const look = async (database: OpenDatabase) => ({
      names: await cityNames(database),
      active: await activePartners(database),
    });
    const { names, active } = await made.files.use(look);
    expect([OLD, NEW]).toContainEqual(names);
    const isNew = names[0] === NEW[0];
    expect(active).toBe(isNew ? 0 : 2);
    found.push(isNew);
    if (isDone) break;
    await restore(made.files.path, made.target, { clock: Date.now, withAccess: true });
    expect(await made.files.use(look)).toEqual({ names: NEW, active: 0 });
  }
  expect(found).toEqual(found.toSorted());
  expect(found.filter((isNew) => !isNew).length).toBeGreaterThan(4);
  expect(found.slice(0, -1)).toContain(true);
}, 280_000);
