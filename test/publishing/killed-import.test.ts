import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openForCommands } from '../../src/database/database.ts';
import { prepareSchema } from '../../src/database/migrator.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { publishLines, solicitation, withImportDirectory, type ImportLines } from '../support/publishing.ts';
import { idsFound } from '../support/search.ts';

const RECORDS = 1_500;
const KILLS = 12;

let made: TestDatabase;

beforeAll(async () => {
  made = await createTestDatabase();
  await publishLines(made.database, version(0));
});
afterAll(() => made.drop());

/** The same records, each of which names the version. */
function version(number: number): ImportLines {
  return {
    'lead-entities': [{ id: 'le_a', name: `City version${number}` }],
    solicitations: Array.from({ length: RECORDS }, (_, i) => ({
      ...solicitation(`sol_${i}`, i + 1),
      title: `Solicitation version${number}`,
    })),
  };
}

/** How many records each version has, as the database opens after whatever happened to it. */
async function versions(found: Set<number>) {
  const database = openForCommands(made.config);
  try {
    await prepareSchema(database, Date.now);
    const { kysely } = database;
    const publications = await kysely.selectFrom('catalog.publications').selectAll().execute();
    const documents = await kysely.selectFrom('catalog.solicitations').select('document').execute();
    const titles = new Set(documents.map(({ document }) => /"title":"[^"]*version(\d+)"/.exec(document)?.[1]));
    const cities = new Set(documents.map(({ document }) => /"name":"City version(\d+)"/.exec(document)?.[1]));
    const current = Number([...titles][0]);
    found.add(current);
    const searchable = (await idsFound(database, 'solicitations', `version${current}`)).length;
    return {
      publications: publications.length,
      records: documents.length,
      titles,
      cities,
      searchable,
      current,
    };
  } finally {
    await database.close();
  }
}

test('an import that is killed at any moment leaves all of it or nothing, and the next one just works', async () => {
  const found = new Set<number>();
  const delays = fc.sample(fc.integer({ min: 150, max: 1_000 }), { numRuns: KILLS, seed: 7 });
  const before = await versions(found);
  expect(before).toMatchObject({ publications: 1, current: 0 });
  let last = before;
  for (const [index, delayMs] of delays.entries()) {
    await withImportDirectory(version(index + 1), async (directory) => {
      const url = made.config.engine === 'sqlite' ? `sqlite:${made.config.path}` : made.config.url;
      const child = spawn(process.execPath, ['src/main.js', 'import', directory], {
        env: { PATH: process.env['PATH'], PDS_DATABASE_URL: url },
        stdio: 'ignore',
      });
      const exited = once(child, 'exit');
      await Promise.race([exited, sleep(delayMs)]);
      child.kill('SIGKILL');
      await exited;
    });
    const after = await versions(found);
    expect(after.titles.size).toBe(1);
    expect(after.cities).toEqual(after.titles);
    expect(after).toMatchObject({ records: RECORDS, searchable: RECORDS });
    // A later version came with exactly one publication, an earlier one with none.
    expect(after.publications - last.publications).toBe(after.current === last.current ? 0 : 1);
    last = after;
  }
  await publishLines(made.database, version(KILLS + 1));
  expect((await versions(found)).current).toBe(KILLS + 1);
}, 120_000);
