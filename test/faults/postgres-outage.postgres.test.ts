import { sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { revokeKey } from '../../src/access/key-admin.ts';
import { databaseUrlOf } from '../commands/run-pds.ts';
import type { HttpResponse, Client } from '../support/client.ts';
import { databaseForEachTest } from '../support/database.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServing, type Serving } from '../support/serving-process.ts';
import { startTcpProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { timeUntil } from '../support/time-until.ts';

/** The guaranteed times, and a margin for a busy machine. */
const NOTICED_MS = 2_000;
const BACK_MS = 1_000;
const MARGIN_MS = 1_500;

const KNOWN = '/v1/contracts?limit=1';
const NOT_KNOWN = ['/v1/contracts', '/v1/solicitations/count?q=road', '/v1/suppliers?q=x', '/v1/coops?limit=3'];

let proxy: TcpProxy;
let serving: Serving;
let client: Client;
let key: string;
let unusedKey: string;

const made = databaseForEachTest();
beforeEach(async () => {
  await publishLines(made.database, SMALL_CATALOG);
  ({ key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true }));
  ({ key: unusedKey } = await makePartner(made.database, Date.now, { name: 'other', everything: true }));
  proxy = await startTcpProxy({ port: Number(new URL(inject('postgresUrl')).port) });
  serving = startServing({ engine: 'postgres', url: throughProxy() });
  client = await serving.client();
});
afterEach(async () => {
  await serving.close();
  await proxy.close();
});

const throughProxy = (): string =>
  Object.assign(new URL(databaseUrlOf(made.config)), { port: String(proxy.port) }).href;

async function timed(path: string, ownKey = key): Promise<HttpResponse & { ms: number }> {
  const startedAt = performance.now();
  const answer = await client.get(path, { key: ownKey });
  return { ...answer, ms: performance.now() - startedAt };
}

function expectFailure({ status, headers, body, ms }: HttpResponse & { ms: number }): void {
  expect({ status, code: (JSON.parse(body) as { error: { code: string } }).error.code }).toEqual({
    status: 500,
    code: 'internal_error',
  });
  expect(headers['x-request-id']).toMatch(/^req_/);
  expect(ms).toBeLessThan(NOTICED_MS + MARGIN_MS);
}

/** Repeats uncached requests until they succeed; returns how long that took. */
async function timeUntilBack(): Promise<number> {
  const startedAt = performance.now();
  for (const path of NOT_KNOWN) await timeUntil(async () => (await timed(path)).status === 200);
  return performance.now() - startedAt;
}

describe.each([
  ['is cut off', (): void => proxy.cut()],
  ['is lost in a network that swallows everything', (): void => proxy.freeze()],
])('a PostgreSQL that %s', (_, fail) => {
  test('keeps cached responses valid, fails the rest within two seconds, and recovers within one', async () => {
    const before = await timed(KNOWN);
    expect(before.status).toBe(200);
    fail();

    // Requested before the outage can be detected, and again once it is.
    for (const failed of await Promise.all(NOT_KNOWN.map((path) => timed(path)))) expectFailure(failed);
    expectFailure(await timed('/v1/coops', unusedKey));
    const known = await timed(KNOWN);
    expect(known).toMatchObject({ status: 200, body: before.body });
    expect((await client.get('/health')).status).toBe(200);
    await serving.said('cannot be polled');

    proxy.thaw();
    expect(await timeUntilBack()).toBeLessThan(BACK_MS + MARGIN_MS);
    expect((await timed('/v1/coops', unusedKey)).status).toBe(200);
    await serving.said('can be polled again');
  });
});

test('if PostgreSQL is out of connections, requests use existing ones, and without any fail in time', async () => {
  // The service otherwise connects as a superuser here, and connection limits do not apply to superusers.
  await asSuperuser(
    'create role crowded login connection limit 3',
    'grant usage on schema catalog, access to crowded',
    'grant select on all tables in schema catalog, access to crowded',
  );
  await using stack = new AsyncDisposableStack();
  stack.defer(() => asSuperuser('drop owned by crowded', 'drop role crowded'));
  const { href } = Object.assign(new URL(throughProxy()), { username: 'crowded' });
  const other = await stack.use(startServing({ engine: 'postgres', url: href })).client();
  expect((await other.get('/v1/coops', { key })).status).toBe(200);
  // Each waits for a connection for a second at most, and a busy machine takes long.
  const paths = Array.from({ length: 8 }, (_, index) => `/v1/contracts?limit=${1 + index}`);
  const answers = await Promise.all(paths.map((path) => other.get(path, { key })));
  expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));

  await asSuperuser(
    'alter role crowded connection limit 0',
    "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'crowded'",
  );
  const startedAt = performance.now();
  const { status } = await other.get('/v1/suppliers', { key });
  expect(status).toBe(500);
  expect(performance.now() - startedAt).toBeLessThan(NOTICED_MS + MARGIN_MS);

  await asSuperuser('alter role crowded connection limit 3');
  const isBack = async (): Promise<boolean> => (await other.get('/v1/suppliers', { key })).status === 200;
  expect(await timeUntil(isBack)).toBeLessThan(BACK_MS + MARGIN_MS);
});

test('a slow query ends at its deadline, in PostgreSQL too, and delays no one else', async () => {
  const locker = new pg.Client(databaseUrlOf(made.config));
  await locker.connect();
  try {
    await locker.query('begin; lock table catalog.contracts in access exclusive mode');
    const slow = timed('/v1/contracts');
    const others = await Promise.all(['/v1/suppliers', '/v1/coops', '/v1/solicitations'].map((path) => timed(path)));
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { status, ms } = await slow;
    expect(status).toBe(500);
    // The statement timeout is 5 s.
    expect(ms).toBeGreaterThan(4_500);
    expect(ms).toBeLessThan(5_500 + MARGIN_MS);
    // The log names the statement, with placeholders for its values.
    await serving.said('"the request failed"');
    const failed =
      serving
        .output()
        .split('\n')
        .find((line) => line.includes('"the request failed"')) ?? '';
    const { err } = JSON.parse(failed) as { err: { message: string; statement: string } };
    expect(err.message).toMatch(/statement timeout/);
    expect(err.statement).toMatch(/\$1[^]*"catalog"\."contracts"/);
    const { rows } = await locker.query(
      "select query from pg_stat_activity where application_name = 'pds serve' and state = 'active' and datname = current_database()",
    );
    expect(rows).toEqual([]);
  } finally {
    await locker.end();
  }
  expect((await timed('/v1/contracts')).status).toBe(200);
});

test('while slow queries use every connection, a revoked key is refused within a second', async () => {
  const locker = new pg.Client(databaseUrlOf(made.config));
  await locker.connect();
  expect((await timed(KNOWN, unusedKey)).status).toBe(200);
  try {
    await locker.query('begin; lock table catalog.contracts in access exclusive mode');
    const slow = Array.from({ length: 40 }, (_, index) => timed(`/v1/contracts?limit=${index + 2}`));
    await revokeKey(made.database, Date.now, unusedKey.split('_')[2] ?? '');
    const isRefused = async (): Promise<boolean> => (await timed(KNOWN, unusedKey)).status !== 200;
    expect(await timeUntil(isRefused)).toBeLessThan(1_000 + MARGIN_MS);
    const statuses = new Set((await Promise.all(slow)).map(({ status }) => status));
    // Requests that got no connection are rejected with 429.
    expect(statuses).toEqual(new Set([429, 500]));
  } finally {
    await locker.end();
  }
});

async function asSuperuser(...statements: string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(made.database.kysely);
}
