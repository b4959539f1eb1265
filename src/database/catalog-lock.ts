import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { OperatorError } from '../operator-error.ts';
import type { Database } from './database.ts';
import { SQLITE_BUSY, sqliteCode } from './sqlite/sqlite-files.ts';

/** Callbacks of work that holds the catalog's lock. */
export interface WorkHooks {
  /** Called once if another import holds the lock. */
  readonly onWaiting?: () => void;
  /** Called regularly while waiting and working. An error it throws ends the work without changes. */
  readonly throwIfInterrupted?: () => void;
  readonly onProgress?: OnProgress;
  /** Called just before the commit, the last point at which throwing leaves everything unchanged. */
  readonly onCommit?: () => void;
}

const PATIENCE_MS = 60_000;
const RETRY_MS = 200;

// An arbitrary number that nothing else on the server uses; see the migrator's.
const IMPORT_LOCK = 0x70647302;

/**
 * Makes this transaction the only import: takes the write lock of SQLite's catalog file, or an advisory lock on
 * PostgreSQL that does not block readers, keys or grants. Held until the transaction ends.
 *
 * @throws OperatorError after a minute.
 */
export async function lockCatalog(
  transaction: Database,
  { onWaiting, throwIfInterrupted }: Pick<WorkHooks, 'onWaiting' | 'throwIfInterrupted'>,
): Promise<void> {
  await endWithClient(transaction);
  const tryLock = transaction.engine === 'sqlite' ? trySqliteLock : tryPostgresLock;
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (let attempt = 0; !(await tryLock(transaction)); attempt += 1) {
    if (attempt === 0) onWaiting?.();
    if (performance.now() > deadlineMs) {
      throw new OperatorError('another import has been running for over a minute: try again once it has finished');
    }
    await sleep(RETRY_MS);
    throwIfInterrupted?.();
  }
}

async function tryPostgresLock({ kysely }: Database): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(${IMPORT_LOCK}::bigint) as locked`.execute(kysely);
  return rows[0]?.locked === true;
}

async function trySqliteLock({ kysely }: Database): Promise<boolean> {
  const setTimeoutMs = (ms: number) => sql.raw(`pragma busy_timeout = ${ms}`).execute(kysely);
  const { rows } = await sql<{ timeout: number }>`pragma busy_timeout`.execute(kysely);
  await setTimeoutMs(0);
  try {
    await sql`update catalog.migrations set number = number where false`.execute(kysely);
    return true;
  } catch (error) {
    if (sqliteCode(error) === SQLITE_BUSY) return false;
    throw error;
  } finally {
    await setTimeoutMs(rows[0]?.timeout ?? 0);
  }
}

/**
 * Makes PostgreSQL end this transaction within a second of its client's death. By default the server checks the
 * connection only between statements, so a long statement, or one waiting for a lock, would keep all of the
 * transaction's locks.
 */
export async function endWithClient({ engine, kysely }: Database): Promise<void> {
  if (engine === 'postgres') await sql`set local client_connection_check_interval = '1s'`.execute(kysely);
}

/** Receives the progress of long work. An error it throws ends the work. */
export type OnProgress = (progress: {
  readonly done: number;
  readonly total: number;
  /** Such as `Filling the index of contracts`, or a kind. */
  readonly what: string;
}) => void;
