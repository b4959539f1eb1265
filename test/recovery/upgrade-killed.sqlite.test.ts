import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openForServing } from '../../src/database/open.ts';
import { readSchemaState } from '../../src/database/migrations/migrator.ts';
import { callPds } from '../commands/call-pds.ts';
import { becomeLaterVersion, LATER_SETTINGS, SOURCE_MAIN } from '../support/schema/later-version.ts';
import { activePartners, cityNames, createBackedUp, renameCity, type BackedUp } from './backed-up.ts';

const KILL_AT = fileURLToPath(new URL('kill-at.ts', import.meta.url));

let made: BackedUp;
let data: string;
let pristine: string;
let later: Disposable;
beforeAll(async () => {
  made = await createBackedUp();
  const { files } = made;
  data = dirname(files.path);
  pristine = join(files.folder, 'pristine');
  // The upgrade deletes the first catalog, after it has published its own.
  await files.use((database) => renameCity(database, 'Renamed since'));
  cpSync(data, pristine, { recursive: true });
  later = becomeLaterVersion();
});
afterAll(() => {
  later[Symbol.dispose]();
  made.files.remove();
});

/** Runs `pds migrate` on a fresh copy of the database, and kills it before an operation on a file; returns whether it completed. */
async function migrateKilled(killAt: number): Promise<boolean> {
  rmSync(data, { recursive: true, force: true });
  cpSync(pristine, data, { recursive: true });
  const child = spawn(process.execPath, ['--import', KILL_AT, SOURCE_MAIN, 'migrate'], {
    env: { PATH: process.env['PATH'], ...made.files.settings, ...LATER_SETTINGS, KILL_AT: String(killAt) },
    stdio: 'ignore',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

/** The number of steps that are left. Both files are intact, and have all records and partners. */
async function stepsLeft(): Promise<number> {
  await using database = openForServing({ engine: 'sqlite', path: made.files.path });
  for (const group of ['catalog', 'access']) {
    const { rows } = await sql.raw(`pragma ${group}.integrity_check`).execute(database.kysely);
    expect(rows).toEqual([{ integrity_check: 'ok' }]);
  }
  expect(await cityNames(database)).toEqual(['Renamed since', 'City of B']);
  expect(await activePartners(database)).toBe(2);
  return (await readSchemaState(database)).pending.length;
}

test('an upgrade killed before any file operation leaves each group of tables old or new, complete, and can be run again', async () => {
  const found: number[] = [];
  for (let killAt = 0; ; killAt += 1) {
    const isDone = await migrateKilled(killAt);
    const left = await stepsLeft();
    found.push(left);
    if (isDone) break;
    expect((await callPds(['migrate'], made.files.settings)).code).toBe(0);
    expect(await stepsLeft()).toBe(0);
    // Only a change of the catalog deletes those that are not needed.
    expect(readdirSync(data).filter((name) => name.startsWith('pds.catalog-'))).toHaveLength(left === 0 ? 3 : 2);
  }
  expect(found).toEqual(found.toSorted().reverse());
  expect(found.filter((count) => count === 2).length).toBeGreaterThan(4);
  expect(new Set(found.slice(0, -1))).toEqual(new Set([2, 1, 0]));
}, 280_000);
