import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { databaseUrlOf, runPds, runPdsOf } from '../commands/run-pds.ts';
import { databaseForEachTest } from '../support/database.ts';
import { LATER_SETTINGS, SOURCE_MAIN } from '../support/schema/later-version.ts';
import { publishLines, SMALL_CATALOG, withImportDirectory } from '../support/publishing.ts';

/** PostgreSQL checks client connections once a second; the rest is for a busy machine. */
const NOTICED_MS = 5_000;

/** Holds a lock. */
let holder: pg.Client;
/** Reads pg_stat_activity outside a transaction, inside which PostgreSQL would keep returning the first snapshot. */
let onlooker: pg.Client;

const made = databaseForEachTest();
beforeEach(async () => {
  holder = new pg.Client(databaseUrlOf(made.config));
  onlooker = new pg.Client(databaseUrlOf(made.config));
  await Promise.all([holder.connect(), onlooker.connect()]);
});
afterEach(() => Promise.all([holder.end(), onlooker.end()]));

async function waitingForLock(): Promise<number> {
  const { rows } = await onlooker.query<{ count: number }>(`select count(*)::integer as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`);
  return rows[0]?.count ?? 0;
}

/** Starts a command, and kills it while one of its statements waits for a lock. */
async function killInStatement(lockedTable: string, words: string[], settings = {}): Promise<void> {
  await holder.query('begin');
  await holder.query(`lock table ${lockedTable} in access exclusive mode`);
  const env = { PATH: process.env['PATH'], ...made.settings, ...settings };
  const child = spawn(process.execPath, [SOURCE_MAIN, ...words], { env, stdio: 'ignore' });
  const exited = once(child, 'exit');
  while ((await waitingForLock()) === 0) await delay(20);
  child.kill('SIGKILL');
  await exited;
  const killedAt = performance.now();
  while ((await waitingForLock()) > 0) {
    expect(performance.now() - killedAt).toBeLessThan(NOTICED_MS);
    await delay(20);
  }
  await holder.query('rollback');
}

describe('a command killed during a statement of any length soon holds no locks:', () => {
  test('an import', async () => {
    await publishLines(made.database, SMALL_CATALOG);
    await withImportDirectory({ contracts: [], coops: [{ id: 'co_x', name: 'Renamed' }] }, async (directory) => {
      await killInStatement('catalog.coops', ['import', directory]);
      const { code, stderr } = await runPds(['import', directory], made.settings);
      expect({ code, isWaiting: stderr.includes('Waiting up to a minute') }).toEqual({ code: 0, isWaiting: false });
    });
  });

  test('a migration', async () => {
    // Not a table that is read before: such a statement holds no locks, and ends after five seconds.
    await killInStatement('catalog.coops', ['migrate'], LATER_SETTINGS);
    const settings = { ...made.settings, ...LATER_SETTINGS };
    const { code, stderr } = await runPdsOf(SOURCE_MAIN, ['migrate'], settings);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Ran catalog 10') as string });
  });
});
