import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { writeAuditEntry, type AuditEntry } from '../database/audit.ts';
import { inTransaction, type Database, type OpenDatabase } from '../database/database.ts';
import { changeCatalog, type CatalogEvent } from '../database/catalog-change.ts';
import { findLastRelease, lockLog, readLastEvent } from '../database/event-log.ts';
import { hasTimelineChanged, hasTimelines, LOSS, readTimeline, recordTimeline } from '../database/postgres/timeline.ts';
import { EPOCH, type Clock } from '../timestamp.ts';
import { lacksTerms } from '../index/lacks-terms.ts';
import { rebuildIndex, type RebuiltKind } from '../index/write/rebuild-index.ts';
import { readValue } from '../database/statement.ts';
import { vacuum } from '../database/vacuum.ts';
import type { WorkHooks } from '../database/catalog-lock.ts';
import { OperatorError } from '../operator-error.ts';

interface RecoverOptions extends Pick<WorkHooks, 'onWaiting'> {
  readonly clock: Clock;
  /** A timestamp at or after the last lost change: the new one will be later. */
  readonly after?: string;
}

export interface Recovery {
  /** The new commit timestamp: later than any that a client may have seen. */
  readonly timestamp: string;
  /** The last event in the database before; null if none. Changes after it are lost. */
  readonly lastEvent: string | null;
}

/** The last changes that a database still has after it lost some. */
export interface Traces extends Pick<Recovery, 'lastEvent'> {
  /** When partners, grants, keys or the audit trail changed last; null for never. */
  readonly newestTrace: string | null;
}

export async function readTraces(database: Database): Promise<Traces> {
  return { lastEvent: unlessNone(await readLastEvent(database)), newestTrace: await readNewestTrace(database) };
}

/** Null instead of the epoch, which is before the first event. */
export const unlessNone = (lastEvent: string): string | null => (lastEvent === EPOCH ? null : lastEvent);

/**
 * Recovers after changes were lost, because a backup was restored or a lagging replica promoted. Clients may have seen
 * later timestamps than any in the database, and records may have changed back. So a reset is appended to the log, at a
 * later timestamp: each client's next sync receives everything it can see, whatever its watermark. Resending too much is
 * safe; too little is not. Nothing else is written, and servers can keep running.
 *
 * @throws OperatorError if an import ran for over a minute.
 */
export async function recover(database: OpenDatabase, options: RecoverOptions): Promise<Recovery & Traces> {
  const { clock, after } = options;
  const { result: newestTrace, ...reset } = await changeCatalog(database, options, async () => {
    const madeFrom = (await findLastRelease(database))?.made_from ?? null;
    const event = { ...resetOf({ action: 'recover' }, clock, after), madeFrom };
    return { result: await readNewestTrace(database), event };
  });
  return { ...recoveryOf(reset), newestTrace };
}

/**
 * A reset, and its entry in the audit trail. It ends the report of lost changes.
 *
 * @param after a timestamp that it must exceed, if neither the log nor the catalog has it.
 */
export function resetOf(change: Pick<AuditEntry, 'action' | 'details'>, clock: Clock, after = EPOCH): CatalogEvent {
  return {
    what: 'reset',
    after,
    complete: async (transaction, at, lastEvent) => {
      await recordTimeline(transaction);
      await sql`delete from access.settings where name = ${LOSS}`.execute(transaction.kysely);
      const details = { ...change.details, recovered_at: at, last_event: unlessNone(lastEvent) };
      await writeAuditEntry(transaction, clock, { ...change, details });
    },
  };
}

/** Describes a reset that was appended. */
export function recoveryOf({ at, lastEvent }: { at: string | null; lastEvent: string }): Recovery {
  return { timestamp: at ?? '', lastEvent: unlessNone(lastEvent) };
}

/**
 * Records the timeline after a promotion that lost nothing, as a cluster in synchronous mode makes them: the timestamps
 * that clients have seen continue on it, and no record counts as changed.
 *
 * @returns false if it was recorded already, as always on SQLite; nothing was changed.
 * @throws OperatorError if the timeline cannot be read.
 */
export async function recordPromotion(database: OpenDatabase, clock: Clock): Promise<boolean> {
  if (!hasTimelines(database)) return false;
  if ((await readTimeline(database)) === null) {
    throw new OperatorError(
      'the timeline cannot be read: this server is a replica, or the role is not the owner of the tables. Nothing was changed',
    );
  }
  if (!(await hasTimelineChanged(database))) return false;
  await inTransaction(database, async (transaction) => {
    await lockLog(transaction, clock);
    await recordTimeline(transaction);
    await writeAuditEntry(transaction, clock, { action: PROMOTE });
  });
  return true;
}

const PROMOTE = 'promote';

/** The newest timestamp of an event of a partner or key, or of an audit entry. Migrations and promotions do not count. */
function readNewestTrace(database: Database): Promise<string | null> {
  const newest = sql`select max(at) as value from (
    select max(at) as at from access.events where partner_id is not null
    union all select max(at) from access.audit where action not in ('migrate', ${PROMOTE})) as traces`;
  return readValue(database, newest);
}

/**
 * Rebuilds the index from the stored records, all or nothing. Servers continue; imports wait. Ends with a release
 * that changes no record, so that servers drop what they cached of the old index; watermarks stay valid.
 *
 * @returns the timestamp of that release, the kinds, and a note for the operator or null.
 * @throws OperatorError if an import ran for over a minute.
 */
export async function reindex(database: OpenDatabase, options: WorkHooks & { readonly clock: Clock }) {
  const { clock } = options;
  const { result: kinds, at } = await changeCatalog(database, options, async (catalog) => {
    const rebuilt = await rebuildIndex(catalog, randomUUID(), (progress) => {
      options.throwIfInterrupted?.();
      options.onProgress?.(progress);
    });
    const records = sumOfRecords(rebuilt);
    const placedAgain = rebuilt.filter(({ isPlacedAgain }) => isPlacedAgain).map(({ kind }) => kind);
    const complete: CatalogEvent['complete'] = async (transaction, timestamp) => {
      const details = { published_at: timestamp, records, placed_again: placedAgain };
      await writeAuditEntry(transaction, clock, { action: 'reindex', details });
    };
    return { result: rebuilt, event: { what: 'release', complete } };
  });
  return { timestamp: at ?? '', kinds, note: await vacuum(database, sumOfRecords(kinds)) };
}

/** The last step of an upgrade: rebuilds an index of a version that knows fewer terms. Returns its name if it was needed. */
export async function completeIndex(...[database, options]: Parameters<typeof reindex>): Promise<string[]> {
  if (!(await lacksTerms(database))) return [];
  await reindex(database, options);
  return ['index: terms of NIGP codes'];
}

function sumOfRecords(kinds: readonly RebuiltKind[]): number {
  return kinds.reduce((sum, { records }) => sum + records, 0);
}
