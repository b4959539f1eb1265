import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabaseOf, type TestDatabase } from '../support/database.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { startRecording, writtenRequests, type Recording } from './recording.ts';

/** An advisory lock; while the test holds it, no commit of usage completes. */
const GATE = 4_711;

let made: TestDatabase;
let proxy: TcpProxy;
let recording: Recording;

beforeEach(async () => {
  made = await createDatabaseOf('postgres');
  if (made.config.engine !== 'postgres') throw new Error('this is a test of PostgreSQL');
  const url = new URL(made.config.url);
  proxy = await startTcpProxy({ port: Number(url.port) });
  url.port = String(proxy.port);
  recording = startRecording({ engine: 'postgres', url: url.href });
  for (const statement of [
    `create function access.wait_for_gate() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(${GATE}); return null; end $$`,
    `create constraint trigger gate after insert or update on access.usage
      deferrable initially deferred for each row execute function access.wait_for_gate()`,
  ]) {
    await sql.raw(statement).execute(made.database.kysely);
  }
});
afterEach(async () => {
  await recording.close();
  await proxy.close();
  await made.drop();
});

/** The backend that waits for the lock. */
async function waitingAtGate(): Promise<number> {
  for (;;) {
    const { rows } = await sql<{ pid: number }>`select pid from pg_catalog.pg_locks
      where locktype = 'advisory' and objid = ${GATE} and not granted
        and database = (select oid from pg_catalog.pg_database where datname = current_database())`.execute(
      made.database.kysely,
    );
    if (rows[0] !== undefined) return rows[0].pid;
    await delay(10);
  }
}

async function isGone(pid: number): Promise<void> {
  for (;;) {
    const { rows } = await sql`select from pg_catalog.pg_stat_activity where pid = ${pid}`.execute(
      made.database.kysely,
    );
    if (rows.length === 0) return;
    await delay(10);
  }
}

/** Counts ten requests, and cuts the connection during their commit. */
async function loseCommit(whileUnknown: (pid: number) => Promise<void>): Promise<void> {
  const { recorder, count } = recording;
  await made.database.kysely.connection().execute(async (holder) => {
    await sql`select pg_advisory_lock(${GATE})`.execute(holder);
    count('key', 10);
    const written = recorder.write();
    const pid = await waitingAtGate();
    proxy.cut();
    await written;
    expect(recorder.state).toMatchObject({ pendingRequests: 10, failedWrites: 1 });
    proxy.thaw();
    await whileUnknown(pid);
    await sql`select pg_advisory_unlock(${GATE})`.execute(holder);
    await isGone(pid);
  });
}

test('counts whose commit was done while its connection was lost are not written twice', async () => {
  const { recorder, count } = recording;
  await loseCommit(async () => {
    // The outcome is unknown, so nothing is written meanwhile.
    await recorder.write();
    expect(recorder.state).toMatchObject({ pendingRequests: 10, failedWrites: 2 });
  });
  expect(await writtenRequests(made.database)).toEqual({ key: 10 });
  count('key', 1);
  await recorder.write();
  expect(recorder.state.pendingRequests).toBe(0);
  expect(await writtenRequests(made.database)).toEqual({ key: 11 });
});

test('counts whose commit was not done when its connection was lost are written', async () => {
  const { recorder } = recording;
  await loseCommit(async (pid) => {
    await sql`select pg_terminate_backend(${pid})`.execute(made.database.kysely);
    await isGone(pid);
  });
  expect(await writtenRequests(made.database)).toEqual({});
  await recorder.write();
  expect(await writtenRequests(made.database)).toEqual({ key: 10 });
});
