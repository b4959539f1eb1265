import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands, openForServing } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import type { PublishOptions } from '../../src/publishing/publish.ts';
import { runPds } from '../commands/run-pds.ts';
import { mountSmallDisk, whyNoSmallDisk } from '../faults/small-disk.ts';
import {
  publishLines,
  SMALL_CATALOG,
  solicitation,
  withImportDirectory,
  type ImportLines,
} from '../support/publishing.ts';

const NO_DISK = whyNoSmallDisk();

const MANY: ImportLines = {
  ...SMALL_CATALOG,
  solicitations: Array.from({ length: 2_000 }, (_, index) => ({
    ...solicitation(`sol_${index}`, index + 1),
    description: `Paving of Main Street, part ${index}. `.repeat(40),
  })),
};

const interrupt = (): never => {
  throw new Error('interrupted');
};

let folder: string;
let stack: AsyncDisposableStack;

beforeEach(() => {
  stack = new AsyncDisposableStack();
  folder = mkdtempSync(join(tmpdir(), 'pds-log-'));
  stack.defer(() => rmSync(folder, { recursive: true }));
});
afterEach(() => stack.disposeAsync());

async function openIn(directory: string): Promise<{ database: OpenDatabase; file: string }> {
  const file = join(directory, 'pds.sqlite');
  const database = openForCommands({ engine: 'sqlite', path: file });
  stack.defer(() => database.close());
  await migrate(database, Date.now);
  await sql`pragma catalog.wal_checkpoint(truncate)`.execute(database.kysely);
  return { database, file };
}

/** Imports while another connection reads an older state; returns the notes, and the size of the remaining log. */
async function importBeforeReader(directory: string): Promise<{ notes: string[]; logBytes: number; again: string[] }> {
  const { database, file } = await openIn(directory);
  const reader = openForCommands({ engine: 'sqlite', path: file });
  const reading = await reader.kysely.startTransaction().execute();
  await reading.selectFrom('catalog.releases').selectAll().execute();
  // How long the import waits for a reader.
  await sql`pragma busy_timeout = 50`.execute(database.kysely);
  const { notes } = await publishLines(database, MANY);
  const logBytes = statSync(`${file}-wal`).size;
  await reading.rollback().execute();
  await reader.close();
  const { notes: again } = await publishLines(database, MANY);
  expect(statSync(`${file}-wal`).size).toBe(0);
  return { notes, logBytes, again };
}

test('an import warns if a reader prevents emptying the WAL, and repeating the import empties it', async () => {
  const { notes, logBytes, again } = await importBeforeReader(folder);
  expect(notes).toEqual([
    expect.stringMatching(
      /^warning: the import is complete, but .*pds\.sqlite-wal could not be emptied .* was reading an older state/,
    ),
  ]);
  expect(logBytes).toBeGreaterThan(1_000_000);
  expect(again).toEqual([]);
});

test.each<{ name: string; options: Partial<PublishOptions>; reason: RegExp | null }>([
  { name: 'interrupted', options: { onCommit: interrupt }, reason: /^interrupted$/ },
  { name: 'a dry run', options: { dryRun: true }, reason: null },
])('an import that publishes nothing leaves no log: $name', async ({ options, reason }) => {
  const { database, file } = await openIn(folder);
  // As a serving process, which keeps SQLite from removing the log.
  const reader = openForServing({ engine: 'sqlite', path: file });
  stack.defer(() => reader.close());
  await reader.readRevision();
  // Too small for the records, which therefore reach the log before the commit.
  await sql`pragma catalog.cache_size = 10`.execute(database.kysely);
  const logged: number[] = [];
  const throwIfInterrupted = () => void logged.push(statSync(`${file}-wal`).size);
  const importing = publishLines(database, MANY, { throwIfInterrupted, ...options });
  await (reason === null ? importing : expect(importing).rejects.toThrow(reason));
  expect(Math.max(...logged)).toBeGreaterThan(1_000_000);
  expect(statSync(`${file}-wal`).size).toBe(0);
});

test.skipIf(NO_DISK !== null)(
  `an import warns if the disk has no room to empty the WAL, and repeating the import empties it ${NO_DISK ?? ''}`,
  async () => {
    const { logBytes } = await importBeforeReader(folder);
    const disk = mountSmallDisk(48);
    stack.defer(() => disk.remove());
    const { database, file } = await openIn(disk.folder);
    await database.close();
    const pds = (directory: string) => runPds(['import', directory], { PDS_DATABASE_URL: `sqlite:${file}` });
    await withImportDirectory(MANY, async (directory) => {
      // Room for the log and the other files, but not for a second copy of the log.
      disk.fill(logBytes + 500_000);
      const full = await pds(directory);
      expect(full, full.stderr).toMatchObject({ code: 0, stdout: '' });
      expect(full.stderr).toMatch(/2000 +0 +0 +0 +solicitations/);
      expect(full.stderr).toMatch(
        /^warning: the import is complete, but .*-wal could not be emptied .*: no space is left on the disk\. Free some, and run/m,
      );
      disk.free();
      const again = await pds(directory);
      expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('Nothing changed') as string });
      expect(again.stderr).not.toContain('warning');
    });
  },
  60_000,
);
