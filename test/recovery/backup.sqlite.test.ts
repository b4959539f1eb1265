import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { createPartner } from '../../src/access/partner-admin.ts';
import { listCatalogFiles } from '../../src/database/sqlite/file-names.ts';
import { SqliteConnection } from '../../src/database/sqlite/sqlite-files.ts';
import { backup, type BackupOptions } from '../../src/recovery/backup.ts';
import { callPds } from '../commands/call-pds.ts';
import { databaseForEachTest, databasePathOf } from '../support/database.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { overwritePage } from '../support/sqlite-files.ts';
import { firstCatalog, PARTNERS, startWriter } from '../sync/writer-process.ts';

let folder: string;

const made = databaseForEachTest();
beforeEach(() => {
  folder = dirname(databasePathOf(made));
});

function backUp(target: string, options: Partial<BackupOptions> = {}) {
  return backup(databasePathOf(made), target, { clock: Date.now, ...options });
}

test.each(['copying', 'checking'] as const)('a backup interrupted while %s leaves nothing behind', async (step) => {
  await publishLines(made.database, SMALL_CATALOG);
  const before = readdirSync(folder);
  const interrupted = backUp(join(folder, 'backups', 'new'), {
    onProgress: (current) => {
      if (current === step) throw new Error('interrupted');
    },
  });
  await expect(interrupted).rejects.toThrow('interrupted');
  expect(readdirSync(folder)).toEqual(before);
  // No lock is left either: a change and a backup succeed immediately.
  await createPartner(made.database, Date.now, 'acme', { everything: true });
  await backUp(join(folder, 'backups', 'new'));
});

test('a catalog of a backup that was copied to the path of the database is refused', async () => {
  await publishLines(made.database, SMALL_CATALOG);
  const target = join(folder, 'backup');
  await backUp(target);
  const path = join(folder, 'copied.sqlite');
  copyFileSync(join(target, 'catalog.sqlite'), path);
  for (const words of [['partner', 'list'], ['migrate']]) {
    const { code, stderr } = await callPds(words, { PDS_DATABASE_URL: `sqlite:${path}` });
    expect([code, stderr]).toEqual([1, expect.stringContaining('has a catalog without its partners and keys')]);
  }
});

/** Queries one value from a backup. */
function ask(target: string, group: 'catalog' | 'access', statement: string): unknown {
  using connection = new SqliteConnection(join(target, `${group}.sqlite`), { readOnly: true });
  return Object.values(connection.prepare(statement).get() ?? {})[0];
}

describe('pds backup', { timeout: 120_000 }, () => {
  test('creates a folder that only its owner can read, with a manifest', async () => {
    await publishLines(made.database, SMALL_CATALOG);
    const target = join(folder, 'backups', 'today');
    const { code, stdout } = await callPds(['backup', target, '--json'], made.settings);
    expect(code).toBe(0);
    expect(readdirSync(target).sort()).toEqual(['access.sqlite', 'backup.json', 'catalog.sqlite']);
    expect(statSync(target).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(target)) expect(statSync(join(target, name)).mode & 0o777, name).toBe(0o600);
    const manifest = JSON.parse(readFileSync(join(target, 'backup.json'), 'utf8')) as {
      last_event: string;
      schema: object;
      files: Record<string, { name: string; bytes: number; sha256: string }>;
    };
    expect(JSON.parse(stdout)).toEqual({ directory: target, ...manifest });
    expect(manifest.last_event).toBe(ask(target, 'catalog', 'select max(at) from releases'));
    for (const { name, bytes, sha256 } of Object.values(manifest.files)) {
      const content = readFileSync(join(target, name));
      expect([content.length, createHash('sha256').update(content).digest('hex')]).toEqual([bytes, sha256]);
    }
    expect(ask(target, 'catalog', 'select count(*) from contracts')).toBe(2);
    expect(readdirSync(dirname(target))).toEqual(['today']);
  });

  test('makes dated backups with --keep, and removes all but the last ones, and nothing else', async () => {
    await publishLines(made.database, SMALL_CATALOG);
    const target = join(folder, 'nightly');
    mkdirSync(join(target, '2020-01-01T00-00-00.000Z'), { recursive: true });
    const names = [];
    for (let round = 0; round < 3; round += 1) {
      const { code, stdout, stderr } = await callPds(['backup', target, '--keep', '2', '--json'], made.settings);
      expect(code, stderr).toBe(0);
      names.push(basename((JSON.parse(stdout) as { directory: string }).directory));
    }
    // The first has no manifest: it is not a backup.
    expect(readdirSync(target).toSorted()).toEqual(['2020-01-01T00-00-00.000Z', ...names.slice(1)]);
  });

  test('overwrites nothing, and leaves nothing behind if it fails', async () => {
    await publishLines(made.database, SMALL_CATALOG);
    const target = join(folder, 'full');
    mkdirSync(target);
    writeFileSync(join(target, 'precious'), '');
    const refused = await callPds(['backup', target], made.settings);
    expect(refused).toMatchObject({ code: 1, stderr: `error: ${target} is not empty: choose a new folder\n` });
    expect(readdirSync(target)).toEqual(['precious']);
    const file = await callPds(['backup', join(target, 'precious')], made.settings);
    expect(file.code).toBe(1);
    mkdirSync(join(folder, 'empty'));
    expect((await callPds(['backup', join(folder, 'empty')], made.settings)).code).toBe(0);
    expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
  });

  test('detects damage in its copies', async () => {
    await publishLines(made.database, SMALL_CATALOG);
    await made.database.close();
    overwritePage(listCatalogFiles(databasePathOf(made))[0] ?? '', 'contract_suppliers_by_contract_id');
    const outcome = await callPds(['backup', join(folder, 'b')], made.settings);
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toMatch(/damaged/);
    expect(existsSync(join(folder, 'b'))).toBe(false);
  });

  test("refers to PostgreSQL's own tools", async () => {
    const outcome = await callPds(['backup', join(folder, 'b')], {
      PDS_DATABASE_URL: 'postgres://me:hush@127.0.0.1:1/x',
    });
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toMatch(/pg_dump.*pg_basebackup/);
    expect(outcome.stderr).not.toContain('hush');
  });
});

test('both files of a backup are from the same moment, despite concurrent imports and grants', async () => {
  await publishLines(made.database, firstCatalog());
  for (const name of PARTNERS) await createPartner(made.database, Date.now, name, { everything: name === 'all' });
  const order = { database: made.config, rounds: 1_000 };
  const writers = [
    startWriter({ ...order, role: 'importer', seed: 1, clockSkewMs: 0 }),
    startWriter({ ...order, role: 'importer', seed: 2, clockSkewMs: 4_000 }),
    startWriter({ ...order, role: 'granter', seed: 3, rounds: 200, clockSkewMs: 4_000 }),
  ];
  const releases = new Set<unknown>();
  const events = new Set<unknown>();
  // Repeat until enough changes happened for inconsistencies to show.
  for (let round = 0; round < 20 || releases.size < 5 || events.size < 5; round += 1) {
    const target = join(folder, `b${round}`);
    const { last_event: lastEvent } = await backUp(target);
    const published = ask(target, 'catalog', 'select max(at) from releases');
    // No release is between its two commits.
    expect(ask(target, 'access', `select max(at) from events where what = 'release'`)).toBe(published);
    expect(ask(target, 'access', 'select max(at) from events')).toBe(lastEvent);
    // Every row belongs to an existing release, and every grant has a timestamp that was issued.
    expect(
      ask(
        target,
        'catalog',
        `select count(*) from (select changed_release as number from contracts
          union all select changed_release from suppliers union all select changed_release from solicitations)
          where number not in (select number from releases)`,
      ),
    ).toBe(0);
    expect(ask(target, 'access', `select count(*) from grants where granted_at > '${lastEvent}'`)).toBe(0);
    releases.add(published);
    events.add(lastEvent);
  }
  for (const writer of writers) writer.stop();
  expect(await Promise.all(writers.map(({ exited }) => exited))).toEqual([0, 0, 0]);
}, 120_000);
