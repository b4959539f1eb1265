import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { SERVING_SETTINGS } from '../../src/database/postgres/postgres.ts';
import { makeRoles } from '../../src/database/postgres/roles.ts';
import { mayRun, powersOf } from './powers.ts';
import { callPds } from '../commands/call-pds.ts';
import { type Outcome } from '../commands/run-pds.ts';
import { onServer } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { newFolder } from '../support/new-folder.ts';
import { databaseUrl } from '../support/postgres.ts';
import { SMALL_CATALOG, supplier, withImportDirectory } from '../support/publishing.ts';
import { becomeLaterVersion } from '../support/schema/later-version.ts';

// All tests on the server share its roles, unlike databases.
const suffix = randomBytes(6).toString('hex');
const [owner, reader, writer] = [`owner_${suffix}`, `reader_${suffix}`, `writer_${suffix}`] as const;
const name = `roles_${suffix}`;

const opened: OpenDatabase[] = [];
let asOwner: OpenDatabase;
let asReader: OpenDatabase;
let asWriter: OpenDatabase;

beforeAll(async () => {
  await onServer(`create role ${owner} login createrole`);
  await onServer(`create database ${name} owner ${owner}`);
  asOwner = open(owner);
  await migrate(asOwner, Date.now);
  expect(await rolesCommand()).toMatchObject({ code: 0 });
  asReader = open(reader);
  asWriter = open(writer);
});
afterAll(async () => {
  for (const database of opened) await database.close();
  await onServer(`drop database ${name} with (force)`);
  for (const role of [reader, writer, `plain_${suffix}`, owner]) await onServer(`drop role if exists ${role}`);
});

function urlOf(user: string): string {
  const url = new URL(databaseUrl(inject('postgresUrl'), name));
  url.username = user;
  return url.href;
}

function open(user: string): OpenDatabase {
  const database = openForCommands({ engine: 'postgres', url: urlOf(user) });
  opened.push(database);
  return database;
}

function pds(user: string, ...words: string[]): Promise<Outcome> {
  return callPds(words, { PDS_DATABASE_URL: urlOf(user) });
}

function rolesCommand(user: string = owner, ...words: string[]): Promise<Outcome> {
  return pds(user, 'roles', '--reader', reader, '--writer', writer, ...words);
}

async function expectPowers(role: OpenDatabase, ofCatalog: string, ofAccess: Record<string, string>): Promise<void> {
  const powers = Object.entries(await powersOf(role, asOwner));
  const catalog = powers.filter(([table]) => table.startsWith('catalog.'));
  expect(catalog.length).toBeGreaterThan(15);
  for (const [table, held] of catalog)
    expect([table, held]).toEqual([table, table.endsWith('.migrations') ? 'select' : ofCatalog]);
  expect(Object.fromEntries(powers.filter(([table]) => table.startsWith('access.')))).toEqual(ofAccess);
}

describe('PostgreSQL lets', () => {
  test('the reader read what serving needs, and write only usage', async () => {
    await expectPowers(asReader, 'select', {
      'access.audit': '',
      'access.events': 'select',
      'access.grants': 'select',
      'access.keys': 'select',
      'access.migrations': 'select',
      'access.partners': 'select',
      'access.settings': 'select insert',
      'access.usage': 'select insert update delete',
    });
  });

  test('the writer import and change partners, grants and keys, but not alter the schema or the audit trail', async () => {
    await expectPowers(asWriter, 'select insert update delete', {
      'access.audit': 'select insert delete',
      'access.events': 'select insert delete',
      'access.grants': 'select insert delete',
      'access.keys': 'select insert update',
      'access.migrations': 'select',
      'access.partners': 'select insert update',
      'access.settings': 'select insert update',
      'access.usage': 'select',
    });
  });

  test('neither of them create a table or schema', async () => {
    for (const database of [asReader, asWriter]) {
      for (const statement of ['create table catalog.t (i int)', 'create table access.t (i int)', 'create schema s']) {
        expect(await mayRun(database, statement), statement).toBe(false);
      }
    }
  });

  test('both of them use tables added to catalog later, but not those added to access', async () => {
    for (const group of ['catalog', 'access']) {
      await sql.raw(`create table ${group}.later (i int)`).execute(asOwner.kysely);
    }
    expect(await mayRun(asReader, 'select from catalog.later')).toBe(true);
    expect(await mayRun(asReader, 'delete from catalog.later')).toBe(false);
    expect(await mayRun(asWriter, 'delete from catalog.later')).toBe(true);
    expect(await mayRun(asReader, 'select from access.later')).toBe(false);
    expect(await mayRun(asWriter, 'select from access.later')).toBe(false);
    await sql`drop table catalog.later, access.later`.execute(asOwner.kysely);
  });
});

describe('pds roles', () => {
  test('reports what it created, and restores exactly the intended privileges when run again', async () => {
    const before = [await powersOf(asReader, asOwner), await powersOf(asWriter, asOwner)];
    await sql.raw(`grant insert on catalog.coops to ${reader}`).execute(asOwner.kysely);
    await sql.raw(`revoke select on catalog.coops from ${writer}`).execute(asOwner.kysely);
    const { code, stdout } = await rolesCommand(owner, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ reader, writer, created: [], reader_settings: SERVING_SETTINGS });
    expect([await powersOf(asReader, asOwner), await powersOf(asWriter, asOwner)]).toEqual(before);
    expect((await pds(writer, 'audit')).stdout).toMatch(new RegExp(`roles .* reader=${reader} writer=${writer}`));
  });

  testWith('postgresql')('runs a script that psql runs alike', async () => {
    const before = await powersOf(asReader, asOwner);
    await sql.raw(`grant insert on catalog.coops to ${reader}`).execute(asOwner.kysely);
    const script = fileURLToPath(new URL('../../src/database/postgres/roles.sql', import.meta.url));
    const names = [`reader=${reader}`, `writer=${writer}`].flatMap((variable) => ['--set', variable]);
    const options = ['--no-psqlrc', '--single-transaction', '--set', 'ON_ERROR_STOP=1', ...names, '--file', script];
    await promisify(execFile)('psql', [...options, urlOf(owner)]);
    expect(await powersOf(asReader, asOwner)).toEqual(before);
  });

  test('sets the settings of a serving connection on the reader, in this database', async () => {
    const { kysely } = asReader;
    for (const [setting, value] of Object.entries(SERVING_SETTINGS)) {
      const { rows } = await sql<{ value: string }>`select current_setting(${setting}) as value`.execute(kysely);
      expect([setting, rows[0]?.value]).toEqual([setting, value]);
    }
    const { rows } = await sql<{ value: string }>`select current_setting('statement_timeout') as value`.execute(
      asWriter.kysely,
    );
    expect(rows[0]?.value).toBe('0');
  });

  test('refuses a role with further privileges, and changes nothing', async () => {
    await sql`grant insert on catalog.coops to public`.execute(asOwner.kysely);
    const refused = await rolesCommand();
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain(
      `the role ${reader} has more privileges than it should: it can insert catalog.coops`,
    );
    await sql`revoke insert on catalog.coops from public`.execute(asOwner.kysely);
    const byOwner = await pds('postgres', 'roles', '--reader', owner, '--writer', writer);
    expect(byOwner.stderr).toContain('belongs to the owner of the tables');
    const bySuperuser = await pds('postgres', 'roles', '--reader', 'postgres', '--writer', writer);
    expect(bySuperuser.stderr).toContain('it is a superuser');
    expect((await pds(owner, 'roles', '--reader', writer, '--writer', writer)).code).toBe(1);
    // The owner is unchanged.
    expect(await mayRun(asOwner, 'create table catalog.t (i int)')).toBe(true);
  });

  test('says what to do if the user does not own the tables, or cannot create roles', async () => {
    const byWriter = await rolesCommand(writer);
    expect(byWriter.code).toBe(1);
    expect(byWriter.stderr).toContain(`${writer} does not own the tables: run this as their owner`);
    await onServer(`alter role ${owner} nocreaterole`);
    const byOwner = await pds(owner, 'roles', '--reader', `other_${suffix}`, '--writer', writer);
    await onServer(`alter role ${owner} createrole`);
    expect(byOwner.code).toBe(1);
    expect(byOwner.stderr).toContain(`have a superuser run "create role other_${suffix} login"`);
  });

  test('works for an owner who cannot create roles, once a superuser has run the printed statements', async () => {
    const plain = `plain_${suffix}`;
    await onServer(`alter role ${owner} nocreaterole; create role ${plain} login`);
    const refused = await pds(owner, 'roles', '--reader', plain, '--writer', writer);
    const statements = /have a superuser run "([^]*)", and then this again/.exec(refused.stderr)?.[1] ?? '';
    expect(statements).toContain('statement_timeout');
    await onServer(statements);
    const done = await pds(owner, 'roles', '--reader', plain, '--writer', writer);
    await onServer(`alter role ${owner} createrole`);
    expect(done).toMatchObject({ code: 0 });
    expect(await mayRun(open(plain), 'select from catalog.coops')).toBe(true);
  });

  test('accepts names that must be quoted', async () => {
    const odd = `Odd "role"; ${suffix}`;
    const created = await makeRoles(asOwner, Date.now, { reader: odd, writer });
    expect(created).toEqual([odd]);
    const { kysely } = open('postgres');
    await sql`drop owned by ${sql.id(odd)}`.execute(kysely);
    await sql`drop role ${sql.id(odd)}`.execute(kysely);
  });
});

describe('as the writer', () => {
  test('every command works, except those for the owner', async () => {
    const suppliers = Array.from({ length: 1_200 }, (_, index) => supplier(`sup_${index}`));
    const imported = await withImportDirectory({ ...SMALL_CATALOG, suppliers }, (directory) =>
      pds(writer, 'import', directory, '--json'),
    );
    expect(imported).toMatchObject({ code: 0, stderr: '' });
    const { notes } = JSON.parse(imported.stdout) as { notes: string[] };
    const { rows } = await sql<{ version: number; analyzed: number }>`
      select current_setting('server_version_num')::int as version, reltuples::int as analyzed
      from pg_catalog.pg_class where oid = 'catalog.suppliers'::regclass`.execute(asOwner.kysely);
    const mayMaintain = (rows[0]?.version ?? 0) >= 170_000;
    expect(rows[0]?.analyzed).toBe(mayMaintain ? 1_200 : -1);
    expect(notes).toEqual(mayMaintain ? [] : [expect.stringContaining('no privilege to vacuum and analyze')]);

    const done = async (line: string): Promise<string> => {
      const { code, stdout, stderr } = await pds(writer, ...line.split(' '));
      expect({ line, code, stderr: code === 0 ? '' : stderr }).toEqual({ line, code: 0, stderr: '' });
      return stdout;
    };
    const lines =
      'partner create acme;partner grant acme --everything --lead-entity le_a --coop co_x;find coop co_x;' +
      'partner revoke acme --lead-entity le_a;partner set acme --per-minute 5;partner suspend acme;partner resume acme;' +
      'partner create a;partner grant a --coop co_x;key issue a;partner rename a b;partner delete b --yes';
    for (const line of lines.split(';')) await done(line);
    const key = (await done('key issue acme --expires-in 1d')).trim();
    await done(`key rotate ${key.slice(9, 17)} --overlap 1h`);
    await done(`key revoke ${key.slice(9, 17)}`);
    for (const line of ['partner list', 'partner show acme', 'key list', 'usage', 'usage acme', 'audit']) {
      await done(line);
    }
    expect(await done('audit --partner acme')).toContain('key revoke');
  }, 60_000);

  test('as the reader, pds export works', async () => {
    const target = newFolder();
    expect(await pds(reader, 'export', target)).toMatchObject({ code: 0 });
  });

  test("a command with the reader's role says to use the writer's", async () => {
    const { code, stderr } = await pds(reader, 'partner', 'create', 'bolt');
    expect(code).toBe(1);
    expect(stderr).toMatch(/permission denied .*If this is the reader's role, use the writer's/s);
  });

  test('a command for the owner says so', async () => {
    using later = new DisposableStack();
    later.use(becomeLaterVersion());
    const migrating = await pds(writer, 'migrate');
    expect(migrating.code).toBe(1);
    expect(migrating.stderr).toMatch(/permission denied .*"pds recover" must be run as the owner of the tables/s);
  });
});
