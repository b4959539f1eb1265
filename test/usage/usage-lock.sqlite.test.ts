import { chmodSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { SqliteConnection } from '../../src/database/sqlite/sqlite-files.ts';
import { databaseForEachTest, databasePathOf } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { startRecording, writtenRequests } from './recording.ts';

const NOBODY = 65_534;

const made = databaseForEachTest();
const recording = forEachTest(() => startRecording(made.config));

test("while another process locks the database's file, requests are counted without waiting", async () => {
  const { recorder, count } = recording;
  const other = new SqliteConnection(databasePathOf(made));
  other.exec('begin immediate');
  count('key', 1);
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const startedMs = performance.now();
    await recorder.write();
    // A command's statement waits five seconds for a lock, which would block every request on SQLite.
    expect(performance.now() - startedMs).toBeLessThan(2_500);
    count('key', 1);
  }
  expect(recorder.state).toMatchObject({ pendingRequests: 21, failedWrites: 20 });
  other.exec('commit');
  other.close();
  await recorder.write();
  expect(await writtenRequests(made.database)).toEqual({ key: 21 });
});

test('with a read-only database file, requests are counted, and written once it is writable', async () => {
  const { recorder, count, said } = recording;
  const path = databasePathOf(made);
  const files = [path, `${path}-wal`, `${path}-shm`];
  for (const file of files) chmodSync(file, 0o444);
  chmodSync(dirname(path), 0o555);
  for (let attempt = 1; attempt <= 4; attempt += 1) {
    count('key', 1);
    // File permissions do not apply to root.
    process.seteuid?.(process.geteuid?.() === 0 ? NOBODY : (process.geteuid?.() ?? 0));
    try {
      await recorder.write();
    } finally {
      if (process.getuid?.() === 0) process.seteuid?.(0);
    }
    expect(recorder.state).toMatchObject({ pendingRequests: attempt, failedWrites: attempt });
  }
  expect(said).toEqual(['usage cannot be written; requests are served, and their counts held in memory']);
  chmodSync(dirname(path), 0o755);
  for (const file of files) chmodSync(file, 0o600);
  await recorder.write();
  expect(await writtenRequests(made.database)).toEqual({ key: 4 });
});
