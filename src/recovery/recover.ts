import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { writeAuditEntry, type AuditEntry } from '../database/audit.ts';
import { inTransaction, type Database, type OpenDatabase } from '../database/database.ts';
import { hasTimelineChanged, hasTimelines, LOSS, readTimeline, recordTimeline } from '../database/postgres/timeline.ts';
import { bumpRevision, readLastEvents } from '../database/commit-timestamps.ts';
import { EPOCH, latestOf, type Clock } from '../timestamp.ts';
import { insertRows } from '../database/rows.ts';
import { encodeSet, decodeStoredSet, storedSet, type StoredSet } from '../index/position-set.ts';
import { ALL, CHANGED, changeTerms } from '../index/terms.ts';
import { indexTable } from '../index/write/indexed-rows.ts';
import { countRecords, rebuildIndex } from '../index/write/rebuild-index.ts';
import { completeBefore } from '../publishing/write/departures.ts';
import { announceRelease, nextReleaseNumber } from '../publishing/releases.ts';
import { vacuum } from '../database/vacuum.ts';
import { lockCatalog, type WorkHooks } from '../database/catalog-lock.ts';
import { INDEXED_KINDS, type IndexedKind } from '../kinds.ts';
import { OperatorError } from '../operator-error.ts';
import { setImmediate } from 'node:timers/promises';

interface RecoverOptions extends Pick<WorkHooks, 'onWaiting'> {
  readonly clock: Clock;
  /** A timestamp at or after the last lost change: the new one will be later. */
  readonly after?: string;
  /** The audit trail's entry; `recover` by default. */
  readonly change?: Pick<AuditEntry, 'action' | 'details'>;
}

export interface Recovery {
  /** The new commit timestamp: later than any that a client may have seen. */
  readonly timestamp: string;
  /** The last event in the database before; null if none. Changes after it are lost. */
  readonly lastEvent: string | null;
  /** The newest timestamp of partners, grants, keys and the audit trail; null if none. */
  readonly newestTrace: string | null;
  /** Records that every incremental sync will receive once. */
  readonly records: number;
}

/** The effect of a recovery, read without changes or locks. */
export type RecoveryPreview = Omit<Recovery, 'timestamp'>;

/** Reads what `recover` would do now. */
export async function previewRecovery(database: Database): Promise<RecoveryPreview> {
  const counts = await countRecords(database);
  return { ...(await readTraces(database)), records: counts.reduce((sum, kind) => sum + kind.records, 0) };
}

async function readTraces(database: Database): Promise<Pick<Recovery, 'lastEvent' | 'newestTrace'>> {
  const lastEvent = await readLastEvent(database);
  return { lastEvent: lastEvent === EPOCH ? null : lastEvent, newestTrace: await readNewestTrace(database) };
}

/** Marks all records of a kind as changed by this release, in the index only. */
async function markAllInIndex(
  database: Database,
  kind: IndexedKind,
  { number, token }: { number: number; token: string },
): Promise<void> {
  const { kysely } = database;
  const index = sql.table(`catalog.${kind}_index`);
  const inBlocks = sql`block in (select block from catalog.index_blocks where kind = ${kind})`;
  // The slices are `@changed#0`, `@changed#1`, …; no other term sorts between these bounds.
  await sql`delete from ${index} where ${inBlocks} and term >= ${`${CHANGED}#`} and term < ${`${CHANGED}$`}`.execute(
    kysely,
  );
  const { rows } = await sql<StoredSet>`
    select block, term, bits, checksum from ${index} where ${inBlocks} and term = ${ALL}`.execute(kysely);
  const ofAll = rows.map((row) => ({ block: row.block, bits: encodeSet(decodeStoredSet(kind, row)) }));
  const written = changeTerms(number).flatMap((term) =>
    ofAll.map(({ block, bits }) => storedSet(kind, block, term, bits)),
  );
  await insertRows(database, indexTable(kind), written);
  await sql`update catalog.index_blocks set token = ${token} where kind = ${kind}`.execute(kysely);
}

/**
 * Recovers after changes were lost, because a backup was restored or a lagging replica promoted. Clients may have seen
 * later timestamps than any in the database, and records may have changed back. So one transaction draws a later commit
 * timestamp and publishes every record as changed: each client's next sync receives everything it can see, whatever its
 * watermark. Resending too much is safe; too little is not.
 *
 * Each record keeps the `updated_at` that it is served with. Servers can keep running.
 *
 * @throws OperatorError if an import ran for over a minute.
 */
export async function recover(database: OpenDatabase, options: RecoverOptions): Promise<Recovery> {
  const { clock, after = EPOCH, change = { action: 'recover' } } = options;
  const recovery = await inTransaction(database, async (transaction) => {
    await lockCatalog(transaction, options);
    const release = { number: await nextReleaseNumber(transaction), token: randomUUID() };
    const records = await markRecordsChanged(transaction, release.number);
    for (const kind of INDEXED_KINDS) await markAllInIndex(transaction, kind, release);
    // Locks `access`, so that the values read below stay current.
    await bumpRevision(transaction);
    const traces = await readTraces(transaction);
    const timestamp = await announceRelease(transaction, release, clock, after);
    // Clients may have seen releases that are lost, and listings of changes before them.
    await completeBefore(transaction.kysely, timestamp);
    await recordTimeline(transaction);
    await sql`delete from access.settings where name = ${LOSS}`.execute(transaction.kysely);
    const details = { ...change.details, recovered_at: timestamp, last_event: traces.lastEvent, records };
    await writeAuditEntry(transaction, clock, { ...change, details });
    return { timestamp, ...traces, records };
  });
  // The recovery is committed; a failure of the cleanup does not matter.
  await vacuum(database, recovery.records).catch(() => undefined);
  return recovery;
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
    await bumpRevision(transaction);
    await recordTimeline(transaction);
    await writeAuditEntry(transaction, clock, { action: PROMOTE });
  });
  return true;
}

/** The timestamp of the last release or change of grants. */
export async function readLastEvent(database: Database): Promise<string> {
  const { published, drawn } = await readLastEvents(database);
  return latestOf(published, drawn);
}

const PROMOTE = 'promote';

/** The newest timestamp of any partner, grant, key or audit entry. Migrations and promotions do not count. */
async function readNewestTrace({ kysely }: Database): Promise<string | null> {
  const { rows } = await sql<{ newest: string | null }>`select max(at) as newest from (
    select max(grants_changed_at) as at from access.partners
    union all select max(created_at) from access.partners
    union all select max(suspended_at) from access.partners
    union all select max(created_at) from access.keys
    union all select max(revoked_at) from access.keys
    union all select max(at) from access.audit where action not in ('migrate', ${PROMOTE})) as traces`.execute(kysely);
  return rows[0]?.newest ?? null;
}

async function markRecordsChanged({ kysely }: Database, release: number): Promise<number> {
  let records = 0;
  // A record whose `updated_at` was its release's timestamp gets that timestamp stored.
  for (const table of ['suppliers', 'contracts'] as const) {
    const { numAffectedRows } = await sql`update ${sql.table(`catalog.${table}`)} as record
      set changed_publication = ${release}, updated_at = coalesce(record.updated_at,
        (select published.instant from catalog.publications as published
          where published.number = record.changed_publication))`.execute(kysely);
    records += Number(numAffectedRows);
  }
  const { numAffectedRows } = await sql`
    update catalog.solicitations set changed_publication = ${release}`.execute(kysely);
  return records + Number(numAffectedRows);
}

/**
 * Rebuilds the index from the stored records, all or nothing. Servers continue; imports wait. Ends with a release
 * that changes no record, so that servers drop what they cached of the old index; watermarks stay valid.
 *
 * @returns the timestamp of that release, the kinds, and a note for the operator about the disk; null if there is none.
 * @throws OperatorError if an import ran for over a minute.
 */
export async function reindex(database: OpenDatabase, options: WorkHooks & { readonly clock: Clock }) {
  const { clock } = options;
  const { records, ...reindexed } = await inTransaction(database, async (transaction) => {
    await lockCatalog(transaction, options);
    const release = { number: await nextReleaseNumber(transaction), token: randomUUID() };
    const rebuilt = await rebuildIndex(transaction, release.token, (progress) => {
      options.throwIfInterrupted?.();
      options.onProgress?.(progress);
    });
    const timestamp = await announceRelease(transaction, release, clock);
    const records = rebuilt.reduce((sum, kind) => sum + kind.records, 0);
    const placedAgain = rebuilt.filter(({ isPlacedAgain }) => isPlacedAgain).map(({ kind }) => kind);
    const details = { published_at: timestamp, records, placed_again: placedAgain };
    await writeAuditEntry(transaction, clock, { action: 'reindex', details });
    await setImmediate();
    options.onCommit?.();
    return { timestamp, kinds: rebuilt, records };
  });
  // The rebuild is committed; a failure of the cleanup does not matter.
  return { ...reindexed, note: await vacuum(database, records).catch(() => null) };
}
