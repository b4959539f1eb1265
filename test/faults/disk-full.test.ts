import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { beforeEach, describe, expect, inject, test } from 'vitest';
import type { DatabaseConfig } from '../../src/config.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate, readSchemaState } from '../../src/database/migrations/migrator.ts';
import { databaseUrlOf, runPds, type Outcome } from '../commands/run-pds.ts';
import { makePartner, type PartnerSetup } from '../support/partners.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { findRunAs } from '../support/postgres/postgres-programs.ts';
import { databaseUrl, startServer } from '../support/postgres.ts';
import { publishLines, withImportDirectory } from '../support/publishing.ts';
import { startServing } from '../support/serving-process.ts';
import { expectIntact } from '../support/sqlite-files.ts';
import { mountSmallDisk, whyNoSmallDisk, type SmallDisk } from './small-disk.ts';
import { catalogVersion, watch } from './versions.ts';

const NO_DISK = whyNoSmallDisk();
const isSqlite = inject('engine') === 'sqlite';

const FULL = isSqlite
  ? /^error: no space is left on the disk for .*pds.*\.sqlite.* free at least \d+ MB, and run the command again. It did everything or nothing$/m
  : /^error: the database .* returned an error: could not .*\(53100\)\. The disk of the server is full: free some space/m;

let disk: SmallDisk;
let config: DatabaseConfig;

const stack = forEachTest(() => new AsyncDisposableStack());
beforeEach(async () => {
  disk = mountSmallDisk(isSqlite ? 16 : 64, isSqlite ? null : findRunAs());
  stack.defer(() => disk.remove());
  config = isSqlite ? { engine: 'sqlite', path: join(disk.folder, 'pds.sqlite') } : await createOnDisk(disk.folder);
});

/**
 * Creates a PostgreSQL database whose tables are on the small disk, while the server's log is elsewhere. It needs a
 * server of its own: while the disk is full, its checkpoints fail, and with them statements in other databases.
 */
async function createOnDisk(folder: string): Promise<DatabaseConfig> {
  const { url, stop } = await startServer();
  stack.defer(stop);
  const server = new pg.Client({ connectionString: url });
  await server.connect();
  await server.query(`create tablespace small location '${folder}'`);
  await server.query('create database pds tablespace small');
  await server.end();
  return { engine: 'postgres', url: databaseUrl(url, 'pds') };
}

function open(): OpenDatabase {
  const database = openForCommands(config);
  stack.defer(() => database.close());
  return database;
}

/** Imports the first version, and serves and watches it as a partner with these grants. */
async function serveFirst(grants: Omit<PartnerSetup, 'name'>) {
  const database = open();
  await migrate(database, Date.now);
  await publishLines(database, catalogVersion(1));
  const { key } = await makePartner(database, Date.now, { name: 'acme', ...grants });
  const serving = stack.use(startServing(config));
  const watching = watch(await serving.port(), key);
  await watching.until(1);
  return { database, serving, watching };
}

const pds = (...words: string[]): Promise<Outcome> =>
  runPds(words, { PDS_DATABASE_URL: databaseUrlOf(config), PDS_PORT: '0', PDS_ADMIN_PORT: '0' });

describe.skipIf(NO_DISK !== null)(`a full disk ${NO_DISK ?? ''}`, () => {
  test('fails imports and key commands with a clear message, loses nothing, and servers keep responding', async () => {
    const { database, serving, watching } = await serveFirst({ everything: true });
    const keyCount = async (): Promise<number> =>
      (await database.kysely.selectFrom('access.keys').select('id').execute()).length;

    await withImportDirectory(catalogVersion(2), async (directory) => {
      const backup = `${directory}-backup`;
      stack.defer(() => rmSync(backup, { recursive: true, force: true }));
      if (isSqlite) expect(await pds('backup', backup)).toMatchObject({ code: 0 });
      // Room for the start of the import. PostgreSQL can also reuse pages it allocated to the table for the first
      // import's copy.
      disk.fill(200_000);
      const outcome = await pds('import', directory);
      expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(FULL) as string });
      expect(await database.kysely.selectFrom('catalog.releases').select('number').execute()).toHaveLength(1);
      if (isSqlite) {
        const before = readdirSync(disk.folder);
        const refused = { code: 1, stderr: expect.stringMatching(FULL) as string };
        expect(await pds('restore', backup, '--yes')).toMatchObject(refused);
        expect(readdirSync(disk.folder)).toEqual(before);
      }

      // Otherwise the command and the service would overwrite this log from its beginning.
      if (isSqlite) await sql`pragma access.wal_checkpoint(truncate)`.execute(database.kysely);
      disk.fill();
      const before = await keyCount();
      let issued = 0;
      // PostgreSQL can have room in allocated pages; then the command succeeds, and the key works.
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const { code, stdout, stderr } = await pds('key', 'issue', 'acme');
        issued += code === 0 ? 1 : 0;
        expect(stdout).toMatch(code === 0 ? /^pds_test_\w+\n$/ : /^$/);
        if (code !== 0) expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(FULL) as string });
      }
      expect(await keyCount()).toBe(before + issued);
      expect(await pds('export', join(disk.folder, 'export'))).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^error: (?:ENOSPC: )?no space (?:is )?left on /m) as string,
      });
      expect(readdirSync(disk.folder).filter((name) => name.startsWith('export'))).toEqual([]);
      if (isSqlite) {
        expect(issued).toBe(0);
        // Usage counts cannot be written either.
        await serving.said('usage cannot be written; requests are served, and their counts held in memory');
      }

      disk.free();
      expect((await pds('key', 'issue', 'acme')).code).toBe(0);
      expect(await pds('import', directory)).toMatchObject({ code: 0 });
    });
    if (isSqlite) await serving.said('usage is written again');
    await watching.until(2);
    await watching.end([1, 2]);
    await expectIntact(database);
  }, 60_000);

  // Only SQLite keeps the file of an import beside the tables that these commands write.
  test.each(isSqlite ? (['failed', 'killed'] as const) : [])(
    'leaves a service on which access can be taken away, after an import that %s',
    async (end) => {
      const { database, watching } = await serveFirst({ leadEntities: ['le_a'] });
      await watching.end([1]);
      const [keyId = ''] = (await database.kysely.selectFrom('access.keys').select('id').execute()).map(({ id }) => id);
      await database.close();

      const left = join(disk.folder, 'pds.catalog-2-0123456789abcdef.sqlite');
      if (end === 'failed') {
        disk.fill(400_000);
        const failed = await withImportDirectory(catalogVersion(2), (directory) => pds('import', directory));
        expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(FULL) as string });
      } else {
        // As an import that was killed leaves it.
        writeFileSync(left, Buffer.alloc(2_000_000));
      }
      disk.fill(64 * 1024);
      const commands = [
        ['key', 'revoke', keyId],
        ['partner', 'revoke', 'acme', '--lead-entity', 'le_a'],
        ['partner', 'suspend', 'acme'],
        ['partner', 'delete', 'acme', '--yes'],
      ];
      for (const words of commands) expect(await pds(...words), words.join(' ')).toMatchObject({ code: 0 });
      expect(existsSync(left)).toBe(false);
      disk.fill(64 * 1024);
      expect(await pds('check')).toMatchObject({ code: 1, stdout: expect.stringMatching(/^FAIL +disk/m) as string });
    },
    60_000,
  );

  test('fails a migration with a clear message, and it completes once there is room', async () => {
    // For SQLite, create the empty files first.
    if (isSqlite) await openForCommands(config).close();
    disk.fill(isSqlite ? 150_000 : 50_000);
    expect(await pds('migrate')).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(FULL) as string });
    if (isSqlite) expect(await pds('serve')).toMatchObject({ code: 1, stderr: expect.stringMatching(FULL) as string });
    disk.free();
    expect(await pds('migrate')).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^Ran .*access \d+: tables of partners and keys/) as string,
    });
    expect(await readSchemaState(open())).toEqual({ isEmpty: false, pending: [] });
  });
});
