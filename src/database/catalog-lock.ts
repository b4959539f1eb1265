import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { OperatorError } from '../operator-error.ts';
import type { CatalogFiles, Database } from './database.ts';
import { tryImportLock } from './sqlite/catalog-files.ts';

/** Callbacks of work that holds the catalog's lock. */
export interface WorkHooks {
  /** Called once if an import holds the lock. */
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
 * Makes this transaction the only import on PostgreSQL, by an advisory lock that does not block readers, keys or grants.
 * Held until the transaction ends. On SQLite see `lockFiles`.
 *
 * @throws OperatorError after a minute.
 */
export async function lockCatalog(transaction: Database, hooks: WaitHooks): Promise<void> {
  if (transaction.engine === 'sqlite') return;
  await endWithClient(transaction);
  await retry(async () => {
    const { rows } = await sql<{ locked: boolean }>`
      select pg_try_advisory_xact_lock(${IMPORT_LOCK}::bigint) as locked`.execute(transaction.kysely);
    return rows[0]?.locked === true ? true : null;
  }, hooks);
}

/** Takes SQLite's lock of imports: blocks neither readers nor keys nor grants. @throws OperatorError after a minute. */
export function lockFiles({ path }: CatalogFiles, hooks: WaitHooks): Promise<Disposable> {
  return retry(() => tryImportLock(path), hooks);
}

type WaitHooks = Pick<WorkHooks, 'onWaiting' | 'throwIfInterrupted'>;

async function retry<T>(
  attemptLock: () => T | null | Promise<T | null>,
  { onWaiting, throwIfInterrupted }: WaitHooks,
): Promise<T> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (let attempt = 0; ; attempt += 1) {
    const lock = await attemptLock();
    if (lock !== null) return lock;
    if (attempt === 0) onWaiting?.();
    if (performance.now() > deadlineMs) {
      throw new OperatorError('another import has been running for over a minute: try again once it has finished');
    }
    await sleep(RETRY_MS);
    throwIfInterrupted?.();
  }
}

/**
 * Makes PostgreSQL end this transaction within a second of its client's death. By default a long statement, or one that
 * waits for a lock, would keep all of its locks.
 */
export async function endWithClient({ engine, kysely }: Database): Promise<void> {
  if (engine === 'postgres') await sql`set local client_connection_check_interval = '1s'`.execute(kysely);
}

/** Receives the progress of long work, such as `Filling the index of contracts`. An error it throws ends the work. */
export type OnProgress = (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
