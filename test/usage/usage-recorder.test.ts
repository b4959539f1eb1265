import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startRecording, writtenRequests, writtenUsage, type Recording } from './recording.ts';

const DAY_MS = 86_400_000;
const NOON_MS = Date.parse('2026-04-15T12:00:00.000Z');

let made: TestDatabase;
const recordings: Recording[] = [];

beforeEach(async () => {
  made = await createTestDatabase();
});
afterEach(async () => {
  for (const recording of recordings.splice(0)) await recording.close();
  await made.drop();
});

function record(options?: Parameters<typeof startRecording>[1]): Recording {
  const recording = startRecording(made.config, options);
  recordings.push(recording);
  return recording;
}

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

test('what several processes count at once adds up', async () => {
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

describe('while it cannot be written', () => {
  test('usage is kept, the log says so once, and everything is written once when it can be again', async () => {
    const { recorder, count, said } = record();
    const allow = await refuse('bad');
    count('bad', 2);
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      count('good', 1);
      await recorder.write();
      expect(recorder.state).toEqual({ pendingRequests: 2 + attempt, failedWrites: attempt, droppedRequests: 0 });
    }
    expect(said).toEqual(['usage cannot be written; requests are answered and counted on until it can']);
    expect(await writtenRequests(made.database)).toEqual({});
    await allow();
    await recorder.write();
    expect(await writtenRequests(made.database)).toEqual({ bad: 2, good: 5 });
    expect(recorder.state).toEqual({ pendingRequests: 0, failedWrites: 5, droppedRequests: 0 });
    expect(said.slice(1)).toEqual(['usage is written again']);
  });

  test('what was written before the failure is not written again', async () => {
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

  test('the end of the process waits for it three seconds, and says what is missing', async () => {
    const { count, said, close } = record();
    await refuse('bad');
    count('bad', 4);
    const startedMs = performance.now();
    await close();
    expect(performance.now() - startedMs).toBeGreaterThan(2_000);
    expect(performance.now() - startedMs).toBeLessThan(8_000);
    expect(said.at(-1)).toBe('these requests are missing from the usage');
  });
});

test('usage is kept for as long as was set, and not a day less', async () => {
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
