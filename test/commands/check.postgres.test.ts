import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSteppedClock } from '../faults/stepped-clock.ts';
import { createEmptyDatabase, databaseForEachTest, onServer } from '../support/database.ts';
import { findFreePort } from '../support/free-port.ts';
import { testWith } from '../support/installed-programs.ts';
import { startTcpProxy } from '../support/network/tcp-proxy.ts';
import { runCheck, testProblems, type Checked, type CheckSetup } from './check-contract.ts';
import { callPds } from './call-pds.ts';
import { databaseUrlOf } from './run-pds.ts';

/** All tests on the server share its roles. */
const suffix = randomBytes(6).toString('hex');
const [reader, writer, stranger] = [`reader_${suffix}`, `writer_${suffix}`, `stranger_${suffix}`] as const;

let url: string;

// Runs after the database was dropped, whose objects depend on the roles: vitest calls what was registered last first.
afterEach(async () => {
  for (const role of [reader, writer, stranger]) await onServer(`drop role if exists ${role}`);
});
const made = databaseForEachTest();
beforeEach(() => {
  url = databaseUrlOf(made.config);
});

function setup(change: (address: URL) => unknown = () => undefined, settings = {}, original = url): CheckSetup {
  const address = new URL(original);
  address.password = 'sesame';
  change(address);
  return { settings: { PDS_DATABASE_URL: address.href, ...settings }, secrets: ['sesame'] };
}

const check = (...args: Parameters<typeof setup>): Promise<Checked> => runCheck(setup(...args));

const as = (role: string) => (address: URL) => {
  address.username = role;
};

const permissionsOf = ({ findings }: Checked): string | undefined =>
  findings.find(({ about }) => about === 'permissions')?.message;

const connectionFailed = (reason: string): RegExp =>
  new RegExp(`^fail\\|database 127.0.0.1:\\d+/\\w+: connection failed: .*${reason}`);

/** Opens a session that runs statements; it ends with `stack`. */
async function openSession(stack: AsyncDisposableStack, name: string): Promise<pg.Client> {
  const session = new pg.Client({ connectionString: url, application_name: name });
  session.on('error', () => undefined);
  stack.defer(() => session.end());
  await session.connect();
  return session;
}

testProblems([
  {
    name: 'the session at the head of the queue for a locked table',
    reports: [
      new RegExp(
        '^fail\\|locks: requests that read catalog\\.contracts wait, and fail after 5 seconds, because of session \\d+ ' +
          '\\(application "nightly report", role \\w+, idle in transaction, in a transaction since 20[\\d-]+T[\\d:]+Z\\)\\. ' +
          "Its last statement: begin; select '\\\\u001b\\[31m', count\\(\\*\\) from catalog\\.contracts -- x{100,}$",
      ),
    ],
    cause: async (stack) => {
      const report = await openSession(stack, 'nightly report');
      await report.query(`begin; select '\u001b[31m',\n  count(*) from catalog.contracts -- ${'x'.repeat(1_000)}`);
      const maintenance = await openSession(stack, 'maintenance');
      // Waits for the report, and the check for both.
      void maintenance.query('begin; lock table catalog.contracts in access exclusive mode').catch(() => undefined);
      return setup();
    },
  },
  {
    name: 'a server that is down',
    reports: [connectionFailed('ECONNREFUSED')],
    cause: async () => {
      const port = String(await findFreePort());
      return setup((address) => (address.port = port));
    },
  },
  {
    name: 'an unknown database',
    reports: [connectionFailed('does not exist')],
    cause: () => setup((address) => (address.pathname = '/nobody')),
  },
  {
    name: 'an unknown role',
    reports: [connectionFailed('role "nobody" does not exist')],
    cause: () => setup(as('nobody')),
  },
  {
    name: 'a server that cannot prove its identity',
    reports: [/connection failed: The server does not support SSL connections/],
    cause: () => setup((address) => address.searchParams.set('sslmode', 'verify-full')),
  },
  {
    name: 'that there are no tables and the role cannot create them',
    reports: [`fail|permissions: there are no tables, and ${stranger} cannot create them`],
    cause: async (stack) => {
      const empty = stack.use(await createEmptyDatabase());
      await onServer(`create role ${stranger} login`);
      return setup(as(stranger), {}, databaseUrlOf(empty.config));
    },
  },
]);

test('pds check terminates if the server hangs, before or after connecting', async () => {
  const proxy = await startTcpProxy({ port: Number(new URL(url).port) });
  proxy.freeze();
  const through = (address: URL): void => void (address.port = String(proxy.port));
  expect((await check(through)).troubles).toEqual([
    expect.stringMatching(/^fail\|database .*: connection failed: .*timeout/),
  ]);
  await proxy.close();

  await using stack = new AsyncDisposableStack();
  const holder = await openSession(stack, 'holder');
  // A table of PostgreSQL's own, which every statement of the check needs.
  await holder.query('begin; lock table pg_catalog.pg_namespace in access exclusive mode');
  expect((await check()).troubles).toEqual([
    expect.stringMatching(/^fail\|database: the database .* canceling statement due to statement timeout/),
  ]);
  // The server has no timeout unless the client sets one.
  const unbounded = await check((address) => address.searchParams.set('pgbouncer', 'true'));
  expect(unbounded.troubles).toEqual(['fail|database: no response within 6 seconds']);
});

test('pds check reports what the role can do, and what it lacks', async () => {
  expect((await callPds(['roles', '--reader', reader, '--writer', writer], { PDS_DATABASE_URL: url })).code).toBe(0);
  await onServer(`create role ${stranger} login`);
  expect(permissionsOf(await check())).toMatch(/ can serve, run commands, migrate$/);
  expect(permissionsOf(await check(as(reader)))).toBe(`${reader} can serve`);
  expect(permissionsOf(await check(as(writer)))).toBe(`${writer} can run commands`);
  expect((await check(as(stranger))).troubles).toEqual([
    expect.stringMatching(
      new RegExp(`^fail\\|permissions: ${stranger} can neither serve \\(it lacks select on access.events, `),
    ),
  ]);

  await sql.raw(`revoke insert on access.usage from ${reader}`).execute(made.database.kysely);
  expect((await check(as(reader))).troubles).toEqual([
    expect.stringContaining(
      `fail|permissions: ${reader} can neither serve (it lacks insert on access.usage) nor run commands (`,
    ),
  ]);
});

test('pds check warns if PgBouncer is in use and the role does not bring the settings', async () => {
  await onServer(`create role ${stranger} login superuser`);
  const pooled = (address: URL): void => {
    address.username = stranger;
    address.searchParams.set('pgbouncer', 'true');
  };
  expect((await check(pooled)).troubles).toEqual([
    expect.stringMatching(
      /^warn\|database .*: serving connections have statement_timeout = 0, jit = on, plan_cache_mode = auto$/,
    ),
  ]);
  for (const setting of ["statement_timeout = '5s'", 'jit = off', 'plan_cache_mode = force_generic_plan']) {
    await onServer(`alter role ${stranger} set ${setting}`);
  }
  expect((await check(pooled)).troubles).toEqual([]);
});

test('pds check fails if the server was restored and pds recover was not run', async () => {
  await made.database.kysely
    .updateTable('access.settings')
    .set({ value: 'other' })
    .where('name', '=', 'history')
    .execute();
  expect((await check()).troubles).toEqual([
    expect.stringMatching(/^fail\|history: the server was promoted or restored/),
  ]);
  await callPds(['recover', '--yes'], { PDS_DATABASE_URL: url });
  expect((await check()).troubles).toEqual([]);
});

testWith('faketime')('pds check warns if the clocks of the machine and PostgreSQL differ', async () => {
  const clock = createSteppedClock();
  clock.step(1);
  const { troubles } = await check(undefined, clock.environment);
  expect(troubles).toEqual([
    expect.stringMatching(/^warn\|clock: this machine's and PostgreSQL's clocks are 3(599|600)\.\d seconds apart$/),
  ]);
  clock.remove();
});
