import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { revokeKey } from '../../src/access/key-admin.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { findLastRelease } from '../../src/database/event-log.ts';
import { openForServing } from '../../src/database/open.ts';
import { databaseUrlOf, MAIN, runKilledAt } from '../commands/run-pds.ts';
import { createTestDatabase, databasePathOf } from '../support/database.ts';
import { publishLines, SMALL_CATALOG, withImportDirectory, type ImportLines } from '../support/publishing.ts';
import { startService } from '../support/service.ts';
import { timeUntil } from '../support/time-until.ts';

const SLOW_SYNCS = fileURLToPath(new URL('slow-syncs.ts', import.meta.url));

const named = (name: string): ImportLines => ({ coops: [{ id: 'co_x', name }] });

async function nameIn({ kysely }: OpenDatabase): Promise<string> {
  return (await kysely.selectFrom('catalog.coops').select('name').executeTakeFirstOrThrow()).name;
}

test('an import killed before any file operation leaves the old or the new records, and at most one file too many', async () => {
  await using made = await createTestDatabase();
  // So that the next release deletes a file.
  for (const name of ['-1', '0']) await publishLines(made.database, named(name));
  const folder = dirname(databasePathOf(made));
  await using serving = openForServing(made.config);
  let before = '0';
  const published: boolean[] = [];
  for (let killAt = 0; ; killAt += 1) {
    const next = String(killAt + 1);
    const isDone = await withImportDirectory(named(next), (directory) =>
      runKilledAt(killAt, ['import', directory], made.settings),
    );
    const name = await nameIn(serving);
    expect([before, next]).toContain(name);
    expect(await nameIn(made.database)).toBe(name);
    const releases = await serving.kysely.selectFrom('catalog.releases').select('number').orderBy('number').execute();
    expect(releases.at(-1)?.number).toBe((await findLastRelease(made.database))?.release);
    // The current one, the one before, and one that was left.
    expect(readdirSync(folder).filter((file) => /^pds\.catalog-.*\.sqlite$/.test(file)).length).toBeLessThanOrEqual(3);
    published.push(name === next);
    before = name;
    if (isDone) break;
  }
  // Kills before the event, after it, and the import that was done.
  expect(published.filter((isPublished) => isPublished).length).toBeGreaterThan(1);
  expect(published.filter((isPublished) => !isPublished).length).toBeGreaterThan(4);
  expect(await nameIn(serving)).toBe(before);
}, 120_000);

/**
 * How long each sync of an import takes: of the catalog and its folder, which can be gigabytes, and then, while a
 * timestamp is drawn, of a few pages.
 */
const SYNC_MS = [3_000, 3_000, 200, 200];

/** A second, and one for a busy machine. */
const MAX_REVOCATION_MS = 2_000;

test('a key that is revoked during any sync of an import is refused within a second', async () => {
  const partners = SYNC_MS.map((_, index) => ({ name: `p${index}`, everything: true }));
  await using service = await startService({ catalog: SMALL_CATALOG, clock: Date.now, partners });
  const durations: number[] = [];
  await withImportDirectory(named('1'), async (directory) => {
    const child = spawn(process.execPath, ['--import', SLOW_SYNCS, MAIN, 'import', directory], {
      env: {
        PATH: process.env['PATH'],
        PDS_DATABASE_URL: databaseUrlOf(service.databaseConfig),
        SYNC_MS: SYNC_MS.join(','),
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const exited = once(child, 'exit') as Promise<[number | null]>;
    for await (const line of createInterface(child.stdout)) {
      if (line !== 'sync') continue;
      const { key } = service.partner(`p${durations.length}`);
      expect((await service.get('/v1/coops', { key })).status).toBe(200);
      await revokeKey(service.database, Date.now, key.split('_')[2] ?? '');
      durations.push(await timeUntil(async () => (await service.get('/v1/coops', { key })).status === 401));
    }
    expect((await exited)[0]).toBe(0);
  });
  expect(durations).toHaveLength(SYNC_MS.length);
  expect(Math.max(...durations)).toBeLessThan(MAX_REVOCATION_MS);
  expect(await nameIn(service.database)).toBe('1');
}, 60_000);
