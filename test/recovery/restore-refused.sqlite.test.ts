import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { createPartner, getPartner } from '../../src/access/partner-admin.ts';
import { openForCommands, openForServing } from '../../src/database/open.ts';
import { SqliteConnection } from '../../src/database/sqlite/sqlite-files.ts';
import { runPds } from '../commands/run-pds.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { publishLines, solicitation } from '../support/publishing.ts';
import { startServing } from '../support/serving-process.ts';
import { cityNames, createBackedUp, renameCity } from './backed-up.ts';

const TEST_KEY = { environment: 'test', lifetimeMs: null } as const;

const files = forEachTest(createBackedUp);

/** All files of the database and their contents. */
const contents = (): Map<string, string> =>
  new Map(
    readdirSync(dirname(files.path))
      .sort()
      .map((name) => [name, readFileSync(join(dirname(files.path), name)).toString('latin1')]),
  );

describe('pds restore', { timeout: 120_000 }, () => {
  test('fails while a server or command has the database open, and changes nothing', async () => {
    const key = await files.use(async (database) => (await issueKey(database, Date.now, 'acme', TEST_KEY)).key);
    await files.backUp();
    await files.use((database) => renameCity(database, 'Renamed since'));
    await using serving = startServing({ engine: 'sqlite', path: files.path });
    const { get } = await serving.client();
    const refused = await files.restore('--access');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('is open in another process: stop all servers');
    const { status, body } = await get('/v1/lead-entities', { key });
    expect(status).toBe(200);
    expect(body).toContain('Renamed since');
    await serving.close();
    await files.use(async (database) => {
      expect((await files.restore('--access')).code).toBe(1);
      expect(await cityNames(database)).toEqual(['Renamed since', 'City of B']);
    });
    expect((await files.restore('--access')).code).toBe(0);
  });

  test.each([
    ['that is none', () => rmSync(join(files.target, 'backup.json')), /has no backup.json/],
    ['that lacks a file', () => rmSync(join(files.target, 'access.sqlite')), /is missing: the backup is incomplete/],
    ['that was cut short', () => truncateSync(join(files.target, 'catalog.sqlite'), 8192), /has 8192 bytes instead of/],
    [
      'in which a bit has changed',
      () => {
        const bytes = readFileSync(join(files.target, 'catalog.sqlite'));
        bytes.writeUInt8(bytes.readUInt8(20_000) ^ 1, 20_000);
        writeFileSync(join(files.target, 'catalog.sqlite'), bytes);
      },
      /its SHA-256 differs/,
    ],
    [
      'of a newer schema',
      () => editManifest({ schema: { catalog: 99, access: 1 } }),
      /schema is at 99.*restore it with/,
    ],
    [
      'of version 1.3',
      () => editManifest({ schema: { catalog: 8, access: 8 } }),
      /schema is at 8, which is older than version 2\.0: restore it with version 2\.0$/m,
    ],
    ['of an unknown format', () => editManifest({ format: 2 }), /has a format that this version/],
    ['with an incomplete manifest', () => editManifest({ files: {} }), /has a format that this version/],
  ])('refuses a backup %s, and touches nothing', async (_, spoil, message) => {
    await files.backUp();
    spoil();
    const before = contents();
    const { code, stderr } = await files.restore('--access');
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(contents()).toEqual(before);
  });

  test('a server waiting for the lock does not end up with the replaced files', async () => {
    await files.backUp();
    await files.use((database) => publishLines(database, { solicitations: [solicitation('sol_9', 9)] }));
    // Commands started continuously: each sees the old database or the new one, or is refused with a reason.
    const restoring = new AbortController();
    const seen: { code: number | null; stdout: string; stderr: string }[] = [];
    const asking = (async () => {
      while (!restoring.signal.aborted) seen.push(await runPds(['partner', 'list', '--json'], files.settings));
    })();
    let outcome = await files.restore('--access');
    while (outcome.code !== 0) outcome = await files.restore('--access');
    restoring.abort();
    await asking;
    for (const { code, stderr } of seen) {
      if (code !== 0) expect(stderr).toMatch(/another process is writing|was replaced/);
    }
    // No later write went to the replaced files.
    await files.use((database) => createPartner(database, Date.now, 'after', { everything: false }));
    await files.use(async (database) => expect((await getPartner(database, Date.now, 'after')).name).toBe('after'));
  });
});

/**
 * Runs statements on a file of the backup, and updates the manifest, as an attacker with write access to both would.
 */
function tamper(group: 'catalog' | 'access', statements: string): void {
  const path = join(files.target, `${group}.sqlite`);
  const connection = new SqliteConnection(path);
  connection.exec(`pragma journal_mode = delete; ${statements}`);
  connection.close();
  const bytes = readFileSync(path);
  const { files: described } = JSON.parse(readFileSync(join(files.target, 'backup.json'), 'utf8')) as {
    files: Record<string, object>;
  };
  const changed = { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  editManifest({ files: { ...described, [group]: { ...described[group], ...changed } } });
}

describe('pds restore of a manipulated backup', { timeout: 120_000 }, () => {
  test('drops triggers and views before anything else runs, and lists them', async () => {
    await files.backUp();
    tamper(
      'access',
      `create trigger forge after insert on audit begin update partners set everything_since = '2020' where name = 'bolt'; end;
       create view "café\u001b[2J" as select 1;`,
    );
    tamper('catalog', 'create view shown as select * from solicitations');
    const { code, stdout, stderr } = await files.restore('--access');
    expect(stderr).toContain(
      'WARNING: the backup contained objects that this service does not create; they were dropped',
    );
    expect(code).toBe(0);
    expect((JSON.parse(stdout) as { dropped: string[] }).dropped.toSorted()).toEqual([
      'access trigger forge',
      'access view café\\u001b[2J',
      'catalog view shown',
    ]);
    await files.use(async (database) => {
      await createPartner(database, Date.now, 'after', { everything: false });
      expect(await getPartner(database, Date.now, 'bolt')).toMatchObject({ everythingSince: null });
    });
    const { stdout: trail } = await runPds(['audit', '--json'], files.settings);
    expect(trail).toContain('access trigger forge');
  });

  test('refuses a file that lists no migration, and leaves the database as it is', async () => {
    await files.backUp();
    await files.use((database) => renameCity(database, 'Renamed since'));
    tamper('access', 'delete from migrations');
    // A reader leaves SQLite's shared memory.
    const names = () => [...contents().keys()].filter((name) => !name.endsWith('-shm'));
    const before = names();
    const { code, stderr } = await files.restore('--access');
    expect(stderr).toContain('it lists no migration');
    expect(code).toBe(1);
    expect(names()).toEqual(before);
    expect(await files.use(cityNames)).toEqual(['Renamed since', 'City of B']);
  });
});

function editManifest(change: object): void {
  const path = join(files.target, 'backup.json');
  writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), ...change }));
}

test.each([
  ['a server', openForServing],
  ['a command', openForCommands],
])('%s does not open a database that is replaced while it waits for it', async (_, open) => {
  // Locks the file exclusively, and replaces it shortly after a signal on standard input.
  const program = `
    const { DatabaseSync } = require('node:sqlite');
    const { copyFileSync, renameSync } = require('node:fs');
    const [path] = process.argv.slice(1);
    const lock = new DatabaseSync(path);
    lock.exec('pragma locking_mode = exclusive; pragma journal_mode = delete; begin exclusive; rollback');
    process.stdout.write('locked');
    process.stdin.once('data', () => setTimeout(() => {
      copyFileSync(path, path + '.new');
      renameSync(path + '.new', path);
      lock.close();
      process.stdin.destroy();
    }, 1500));`;
  const holder = spawn(process.execPath, ['-e', program, files.path], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(holder, 'exit');
  await once(holder.stdout, 'data');
  // Sent before opening the database blocks this process.
  await new Promise((resolve) => holder.stdin.write('go', resolve));
  expect(() => open({ engine: 'sqlite', path: files.path })).toThrow(
    /was replaced while it was being opened: try again/,
  );
  await exited;
});
