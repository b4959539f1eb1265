import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { openForServing } from '../../src/database/open.ts';
import { readSchemaState } from '../../src/database/migrations/migrator.ts';
import { callPds } from '../commands/call-pds.ts';
import { runKilledAt } from '../commands/run-pds.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { becomeLaterVersion, LATER_SETTINGS, SOURCE_MAIN } from '../support/schema/later-version.ts';
import { expectIntact } from '../support/sqlite-files.ts';
import { activePartners, cityNames, createBackedUp, renameCity } from './backed-up.ts';

const files = forAllTests(createBackedUp);
const opened = forAllTests(() => new AsyncDisposableStack());
beforeAll(async () => {
  // The upgrade deletes the first catalog, after it has published its own.
  await files.use((database) => renameCity(database, 'Renamed since'));
  files.save();
  opened.use(becomeLaterVersion());
});

/** Runs `pds migrate` on a fresh copy of the database, and kills it before an operation on a file; returns whether it completed. */
function migrateKilled(killAt: number): Promise<boolean> {
  files.reset();
  return runKilledAt(killAt, ['migrate'], { ...files.settings, ...LATER_SETTINGS }, SOURCE_MAIN);
}

/** The number of steps that are left. Both files are intact, and have all records and partners. */
async function stepsLeft(): Promise<number> {
  await using database = openForServing({ engine: 'sqlite', path: files.path });
  await expectIntact(database);
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
    expect((await callPds(['migrate'], files.settings)).code).toBe(0);
    expect(await stepsLeft()).toBe(0);
    // Only a change of the catalog deletes those that are not needed.
    const catalogs = readdirSync(dirname(files.path)).filter((name) => name.startsWith('pds.catalog-'));
    expect(catalogs).toHaveLength(left === 0 ? 3 : 2);
  }
  expect(found).toEqual(found.toSorted().reverse());
  expect(found.filter((count) => count === 2).length).toBeGreaterThan(4);
  expect(new Set(found.slice(0, -1))).toEqual(new Set([2, 1, 0]));
}, 280_000);
