import { sql } from 'kysely';
import { describe, expect, inject, test } from 'vitest';
import { startRecording, writtenRequests, writtenUsage, type Recording } from './recording.ts';
import { databaseForEachTest } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';

const DAY_MS = 86_400_000;
const NOON_MS = Date.parse('2026-04-15T12:00:00.000Z');

const made = databaseForEachTest();
const opened = forEachTest(() => new AsyncDisposableStack());

const record = (options?: Parameters<typeof startRecording>[1]): Recording =>
  opened.use(startRecording(made.config, options));

/** Makes the database reject writes for this key until the returned function is called. */
async function refuse(keyId: string): Promise<() => Promise<unknown>> {
  const { kysely } = made.database;
  if (inject('engine') === 'sqlite') {
    await sql
      .raw(
        `create trigger access.refused before insert on usage when new.key_id = '${keyId}'
          begin select raise(abort, 'refused'); end`,
      )
      .execute(kysely);
    return () => sql`drop trigger access.refused`.execute(kysely);
  }
  await sql.raw(`alter table access.usage add constraint refused check (key_id <> '${keyId}')`).execute(kysely);
  return () => sql`alter table access.usage drop constraint refused`.execute(kysely);
}

test('counts of several processes add up', async () => {
  const processes = [record(), record(), record()];
  for (let round = 1; round <= 5; round += 1) {
    for (const { count } of processes) {
      count('shared', 10);
      count('other', round);
    }
    // On SQLite they encounter each other's lock, and must retry.
    await Promise.all(processes.map(({ recorder }) => recorder.write()));
  }
  for (const recording of processes) await recording.close();
  expect(await writtenRequests(made.database)).toEqual({ shared: 150, other: 45 });
});

describe('while usage cannot be written', () => {
  test('counts are held and logged once, and written once as soon as possible', async () => {
    const { recorder, count, said } = record();
    const allow = await refuse('bad');
    count('bad', 2);
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      count('good', 1);
      await recorder.write();
      expect(recorder.state).toEqual({ pendingRequests: 2 + attempt, failedWrites: attempt });
    }
    expect(said).toEqual(['usage cannot be written; requests are served, and their counts held in memory']);
    expect(await writtenRequests(made.database)).toEqual({});
    await allow();
    await recorder.write();
    expect(await writtenRequests(made.database)).toEqual({ bad: 2, good: 5 });
    expect(recorder.state).toEqual({ pendingRequests: 0, failedWrites: 5 });
    expect(said.slice(1)).toEqual(['usage is written again']);
  });

  test('batches written before the failure are not written again', async () => {
    const { recorder, count } = record();
    // Written in several transactions, of which a later one fails.
    const keys = Array.from({ length: 450 }, (_, index) => `key${String(index).padStart(3, '0')}`);
    for (const key of keys) count(key, 3);
    const allow = await refuse('key420');
    await recorder.write();
    const before = await writtenRequests(made.database);
    expect(Object.keys(before).length).toBeGreaterThan(0);
    expect(recorder.state.pendingRequests).toBe(3 * (450 - Object.keys(before).length));
    for (const key of keys) count(key, 1);
    await recorder.write();
    await allow();
    await recorder.write();
    expect(await writtenRequests(made.database)).toEqual(Object.fromEntries(keys.map((key) => [key, 4])));
  });

  test('shutdown retries for three seconds, then logs how much is missing', async () => {
    const { count, said, close } = record();
    await refuse('bad');
    count('bad', 4);
    const startedMs = performance.now();
    await close();
    expect(performance.now() - startedMs).toBeGreaterThan(2_000);
    expect(performance.now() - startedMs).toBeLessThan(8_000);
    expect(said.at(-1)).toBe('usage of these requests was not written');
  });
});

if (inject('engine') === 'postgres') {
  test('counts are written again if their connection was lost', async () => {
    const { recorder, count } = record();
    const { kysely } = made.database;
    count('key', 3);
    await kysely.transaction().execute(async (locking) => {
      await sql`lock table access.usage`.execute(locking);
      const writing = recorder.write();
      const endWriting = sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(async () => (await endWriting.execute(kysely)).rows.length).toBe(1);
      await writing;
    });
    expect(recorder.state).toMatchObject({ pendingRequests: 3, failedWrites: 1 });
    // The next attempt can still get the lost connection from the pool.
    await expect.poll(() => recorder.write().then(() => recorder.state.pendingRequests)).toBe(0);
    expect(await writtenRequests(made.database)).toEqual({ key: 3 });
  });
}

test('usage is stored for exactly the configured retention', async () => {
  let nowMs = NOON_MS;
  const clock = (): number => nowMs;
  const everything = record({ clock });
  for (let day = 0; day < 5; day += 1) {
    nowMs = NOON_MS + day * DAY_MS;
    everything.count('key', 1 + day);
    await everything.recorder.write();
  }
  expect(await writtenUsage(made.database)).toHaveLength(5);
  const { recorder } = record({ clock, retentionDays: 2 });
  // Each write deletes one day.
  for (let time = 0; time < 5; time += 1) await recorder.write();
  expect((await writtenUsage(made.database)).map(({ day, requests }) => [day, requests])).toEqual([
    ['2026-04-17', 3],
    ['2026-04-18', 4],
    ['2026-04-19', 5],
  ]);
});
