import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { findLastRelease } from '../../src/database/event-log.ts';
import { openForServing } from '../../src/database/open.ts';
import { databaseUrlOf, MAIN } from '../commands/run-pds.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { publishLines, withImportDirectory, type ImportLines } from '../support/publishing.ts';

const KILL_AT = fileURLToPath(new URL('../recovery/kill-at.ts', import.meta.url));

const named = (name: string): ImportLines => ({ coops: [{ id: 'co_x', name }] });

/** Imports, and is killed before an operation on a file; returns whether it was done before. */
async function importKilled({ config }: TestDatabase, directory: string, killAt: number): Promise<boolean> {
  const child = spawn(process.execPath, ['--import', KILL_AT, MAIN, 'import', directory], {
    env: { PATH: process.env['PATH'], PDS_DATABASE_URL: databaseUrlOf(config), KILL_AT: String(killAt) },
    stdio: 'ignore',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

async function nameIn({ kysely }: OpenDatabase): Promise<string> {
  return (await kysely.selectFrom('catalog.coops').select('name').executeTakeFirstOrThrow()).name;
}

test('an import killed before any file operation leaves the old or the new records, and at most one file too many', async () => {
  await using made = await createTestDatabase();
  // So that the next release deletes a file.
  for (const name of ['-1', '0']) await publishLines(made.database, named(name));
  const folder = made.config.engine === 'sqlite' ? dirname(made.config.path) : '';
  const serving = openForServing(made.config);
  try {
    let before = '0';
    const published: boolean[] = [];
    for (let killAt = 0; ; killAt += 1) {
      const next = String(killAt + 1);
      const isDone = await withImportDirectory(named(next), (directory) => importKilled(made, directory, killAt));
      const name = await nameIn(serving);
      expect([before, next]).toContain(name);
      expect(await nameIn(made.database)).toBe(name);
      const releases = await serving.kysely.selectFrom('catalog.releases').select('number').orderBy('number').execute();
      expect(releases.at(-1)?.number).toBe((await findLastRelease(made.database))?.release);
      // The current one, the one before, and one that was left.
      expect(readdirSync(folder).filter((file) => /^pds\.catalog-.*\.sqlite$/.test(file)).length).toBeLessThanOrEqual(
        3,
      );
      published.push(name === next);
      before = name;
      if (isDone) break;
    }
    // Kills before the event, after it, and the import that was done.
    expect(published.filter((isPublished) => isPublished).length).toBeGreaterThan(1);
    expect(published.filter((isPublished) => !isPublished).length).toBeGreaterThan(4);
    expect(await nameIn(serving)).toBe(before);
  } finally {
    await serving.close();
  }
}, 120_000);
