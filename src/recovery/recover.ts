import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { recordChange, type Change } from '../database/audit.ts';
import { inTransaction, type Database, type OpenDatabase } from '../database/database.ts';
import { recordHistory } from '../database/history.ts';
import { raiseAccessVersion } from '../database/series.ts';
import { EPOCH, latestOf, type Clock } from '../instant.ts';
import { ALL, CHANGED, changeTerms, INDEXED_KINDS, type IndexedKind } from '../index/terms.ts';
import { announcePublication, nextPublication, tidyUp } from '../publishing/announce.ts';
import { lockCatalog } from '../publishing/lock.ts';

export interface RecoverOptions {
  readonly clock: Clock;
  /** An instant of the lost history, or later than all of it: the new one comes after it. */
  readonly after?: string;
  /** What it is done for, as the audit trail names it; `recover` by itself unless said otherwise. */
  readonly change?: Pick<Change, 'action' | 'details'>;
  /** Called once if an import has to be waited for. */
  readonly onWaiting?: () => void;
}

export interface Recovery {
  /** Drawn now: later than whatever a client may have seen. */
  readonly instant: string;
  /** The last event that the database knew of before; null where it knew of none. What was done after it is lost. */
  readonly lastEvent: string | null;
  /** The newest instant that stands with partners, grants, keys and what operators did; null where there are none. */
  readonly newestTrace: string | null;
  /** Records that every incremental sync will be given once. */
  readonly records: number;
}

/** What a recovery would do, read without changing anything or waiting for anyone. */
export type RecoveryPreview = Omit<Recovery, 'instant'>;

/** Reads what `recover` would do now. */
export async function previewRecovery(database: Database): Promise<RecoveryPreview> {
  const lastEvent = await readLastEvent(database);
  let records = 0;
  for (const table of ['suppliers', 'contracts', 'solicitations'] as const) {
    const { rows } = await sql<{ records: number }>`
      select count(*) as records from ${sql.table(`catalog.${table}`)}`.execute(database.kysely);
    records += rows[0]?.records ?? 0;
  }
  return { lastEvent: lastEvent === EPOCH ? null : lastEvent, newestTrace: await readNewestTrace(database), records };
}

/** All records of a kind were changed by a publication, and nothing else about them. */
async function markAllInIndex(
  { kysely }: Database,
  kind: IndexedKind,
  { number, token }: { number: number; token: string },
): Promise<void> {
  const index = sql.table(`catalog.${kind}_index`);
  const inBlocks = sql`block in (select block from catalog.index_blocks where kind = ${kind})`;
  // The slices are `@changed#0`, `@changed#1`, …; no other term lies between these.
  await sql`delete from ${index} where ${inBlocks} and term >= ${`${CHANGED}#`} and term < ${`${CHANGED}$`}`.execute(
    kysely,
  );
  for (const term of changeTerms(number)) {
    await sql`insert into ${index} (block, term, bits)
      select block, cast(${term} as text), bits from ${index} where ${inBlocks} and term = ${ALL}`.execute(kysely);
  }
  await kysely.updateTable('catalog.index_blocks').set({ token }).where('kind', '=', kind).execute();
}

/**
 * Goes on after history was lost: a backup was restored, or a replica promoted that lagged. What
 * clients have seen may then be later than anything in the database, and records may have changed
 * back. So, all in one transaction, an instant is drawn after which the series goes on, as that
 * of a publication which changed every record: each client's next sync is given all that it may
 * see, whatever its watermark. Giving more than had to be given is allowed, giving less is not.
 *
 * The `updated_at` of every record stays as it is served. Servers may run meanwhile.
 *
 * @throws ImportLockedError where an import ran for over a minute.
 */
export async function recover(
  database: OpenDatabase,
  { clock, after = EPOCH, change = { action: 'recover' }, onWaiting }: RecoverOptions,
): Promise<Recovery> {
  const recovery = await inTransaction(database, async (transaction) => {
    await lockCatalog(transaction, { ...(onWaiting !== undefined && { onWaiting }) });
    const publication = await nextPublication(transaction);
    const token = randomUUID();
    const records = await markRecordsChanged(transaction, publication);
    for (const kind of INDEXED_KINDS) await markAllInIndex(transaction, kind, { number: publication, token });
    // Takes the lock on `access`, so that what is read there stays true.
    await raiseAccessVersion(transaction);
    const lastEvent = await readLastEvent(transaction);
    const newestTrace = await readNewestTrace(transaction);
    const instant = await announcePublication(transaction, { number: publication, token }, clock, after);
    await recordHistory(transaction);
    const recovered = { instant, lastEvent: lastEvent === EPOCH ? null : lastEvent, newestTrace, records };
    const details = { ...change.details, recovered_at: instant, last_event: recovered.lastEvent, records };
    await recordChange(transaction, clock, { ...change, details });
    return recovered;
  });
  // It is done; a failure from here on is none of the recovery.
  await tidyUp(database, recovery.records).catch(() => undefined);
  return recovery;
}

/** The instant of the last publication or change of grants. */
export async function readLastEvent({ kysely }: Database): Promise<string> {
  const { rows } = await sql<{ published: string | null; drawn: string }>`select
    (select max(instant) from catalog.publications) as published,
    (select last_instant from access.clock) as drawn`.execute(kysely);
  return latestOf(EPOCH, ...rows.flatMap(({ published, drawn }) => [published ?? EPOCH, drawn]));
}

/** How new the knowledge of partners and keys is, as far as it can be told from it; a migration adds none. */
async function readNewestTrace({ kysely }: Database): Promise<string | null> {
  const { rows } = await sql<{ newest: string | null }>`select max(at) as newest from (
    select max(grants_changed_at) as at from access.partners
    union all select max(created_at) from access.partners
    union all select max(suspended_at) from access.partners
    union all select max(created_at) from access.keys
    union all select max(revoked_at) from access.keys
    union all select max(at) from access.audit where action <> 'migrate') as traces`.execute(kysely);
  return rows[0]?.newest ?? null;
}

async function markRecordsChanged({ kysely }: Database, publication: number): Promise<number> {
  let records = 0;
  // Where the instant of the publication that changed a record is its `updated_at`, the record is given it to keep.
  for (const table of ['suppliers', 'contracts'] as const) {
    const { numAffectedRows } = await sql`update ${sql.table(`catalog.${table}`)} as record
      set changed_publication = ${publication}, updated_at = coalesce(record.updated_at,
        (select publication.instant from catalog.publications as publication
          where publication.number = record.changed_publication))`.execute(kysely);
    records += Number(numAffectedRows);
  }
  const { numAffectedRows } = await sql`
    update catalog.solicitations set changed_publication = ${publication}`.execute(kysely);
  return records + Number(numAffectedRows);
}
