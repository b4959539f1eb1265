import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { createSteppedClock, whyNoSteppedClock } from '../faults/stepped-clock.ts';
import { createTestDatabase, onServer, type TestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/free-port.ts';
import { databaseUrl } from '../support/postgres.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { runCheck, type Checked } from './checked.ts';
import { databaseUrlOf, runPds } from './run-pds.ts';

const NO_CLOCK = whyNoSteppedClock();

/** All tests on the server share its roles. */
const suffix = randomBytes(6).toString('hex');
const [reader, writer, stranger] = [`reader_${suffix}`, `writer_${suffix}`, `stranger_${suffix}`] as const;

let made: TestDatabase;
let url: string;

beforeEach(async () => {
  made = await createTestDatabase();
  url = databaseUrlOf(made.config);
});
afterEach(async () => {
  await made.drop();
  for (const role of [reader, writer, stranger]) await onServer(`drop role if exists ${role}`);
});

function check(changed: (address: URL) => void = () => undefined, settings = {}): Promise<Checked> {
  const address = new URL(url);
  address.password = 'sesame';
  changed(address);
  return runCheck({ PDS_DATABASE_URL: address.href, ...settings }, { secrets: ['sesame'] });
}

const as = (role: string) => (address: URL) => {
  address.username = role;
};

const permissionsOf = ({ findings }: Checked): string | undefined =>
  findings.find(({ about }) => about === 'permissions')?.message;

test('pds check fails where there is no server, no database, no role', async () => {
  const port = String(await findFreePort());
  const failure = (reason: string): unknown[] => [
    expect.stringMatching(new RegExp(`^fail\\|database 127.0.0.1:\\d+/\\w+: it cannot be used: .*${reason}`)),
  ];
  expect((await check((address) => (address.port = port))).troubles).toEqual(failure('ECONNREFUSED'));
  expect((await check((address) => (address.pathname = '/nobody'))).troubles).toEqual(failure('does not exist'));
  expect((await check(as('nobody'))).troubles).toEqual(failure('role "nobody" does not exist'));
});

test('pds check fails where a server cannot prove its name', async () => {
  const { findings, troubles } = await check((address) => address.searchParams.set('sslmode', 'verify-full'));
  expect(troubles).toEqual([expect.stringContaining('it cannot be used: The server does not support SSL connections')]);
  expect(findings.at(-1)?.advice).toContain('it has to show a certificate for the host in PDS_DATABASE_URL');
});

test('pds check comes to an end where the server hangs, before it is connected and after', async () => {
  const proxy = await startTcpProxy({ port: Number(new URL(url).port) });
  proxy.freeze();
  const through = (address: URL): void => void (address.port = String(proxy.port));
  expect((await check(through)).troubles).toEqual([
    expect.stringMatching(/^fail\|database .* cannot be used: .*timeout/),
  ]);
  await proxy.close();

  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  await holder.query('begin; lock table access.clock in access exclusive mode');
  expect((await check()).troubles).toEqual([
    expect.stringMatching(/^fail\|database: the database .* canceling statement due to statement timeout/),
  ]);
  // The server has no timeout unless the client sets one.
  const unbounded = await check((address) => address.searchParams.set('pgbouncer', 'true'));
  expect(unbounded.troubles).toEqual(['fail|database: no answer within 6 seconds']);
  await holder.end();
});

test('pds check tells what the role may do, and what it lacks', async () => {
  expect((await runPds(['roles', '--reader', reader, '--writer', writer], { PDS_DATABASE_URL: url })).code).toBe(0);
  await onServer(`create role ${stranger} login`);
  expect(permissionsOf(await check())).toMatch(/ may serve, run commands, migrate$/);
  expect(permissionsOf(await check(as(reader)))).toBe(`${reader} may serve`);
  expect(permissionsOf(await check(as(writer)))).toBe(`${writer} may run commands`);
  expect((await check(as(stranger))).troubles).toEqual([
    expect.stringMatching(
      new RegExp(`^fail\\|permissions: ${stranger} may not serve \\(it lacks select on access.clock, `),
    ),
  ]);

  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  await owner.query(`revoke insert on access.usage from ${reader}`);
  expect((await check(as(reader))).troubles).toEqual([
    expect.stringContaining(
      `fail|permissions: ${reader} may not serve (it lacks insert on access.usage), nor run commands (`,
    ),
  ]);
  await owner.end();
});

test('pds check fails where there are no tables, and the role may not make them', async () => {
  const name = `empty_${suffix}`;
  await onServer(`create database ${name}`);
  await onServer(`create role ${stranger} login`);
  const empty = new URL(databaseUrl(inject('postgresUrl'), name));
  empty.username = stranger;
  const { troubles } = await runCheck({ PDS_DATABASE_URL: empty.href });
  expect(troubles).toEqual([`fail|permissions: there are no tables, and ${stranger} may not make them`]);
  await onServer(`drop database ${name} with (force)`);
});

test('pds check warns where PgBouncer is named, and the role does not bring the settings', async () => {
  await onServer(`create role ${stranger} login superuser`);
  const pooled = (address: URL): void => {
    address.username = stranger;
    address.searchParams.set('pgbouncer', 'true');
  };
  expect((await check(pooled)).troubles).toEqual([
    expect.stringMatching(/^warn\|database .*: connections that serve have statement_timeout = 0, jit = on$/),
  ]);
  for (const setting of ["statement_timeout = '5s'", 'jit = off']) {
    await onServer(`alter role ${stranger} set ${setting}`);
  }
  expect((await check(pooled)).troubles).toEqual([]);
});

test('pds check fails where the server was restored since, and pds recover was not run', async () => {
  await made.database.kysely
    .updateTable('access.settings')
    .set({ value: 'other' })
    .where('name', '=', 'history')
    .execute();
  expect((await check()).troubles).toEqual([
    expect.stringMatching(/^fail\|history: the server has been promoted or restored/),
  ]);
  await runPds(['recover', '--yes'], { PDS_DATABASE_URL: url });
  expect((await check()).troubles).toEqual([]);
});

test.skipIf(NO_CLOCK !== null)(`pds check warns where the clock is not PostgreSQL’s ${NO_CLOCK ?? ''}`, async () => {
  const clock = createSteppedClock();
  clock.step(1);
  const { troubles } = await check(undefined, clock.environment);
  expect(troubles).toEqual([
    expect.stringMatching(/^warn\|clock: this machine's and PostgreSQL's are 3(599|600)\.\d seconds apart$/),
  ]);
  clock.remove();
});
