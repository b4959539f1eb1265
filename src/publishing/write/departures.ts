import { sql, type Kysely } from 'kysely';
import { ownerColumns, ownersOf, type OwnedRow } from '../../access/visibility/owners.ts';
import { isOneOf, jsonElements } from '../../database/statement.ts';
import { inBatches } from '../../database/rows.ts';
import type { DepartureRow, Tables } from '../../database/tables.ts';
import type { IndexedKind } from '../../kinds.ts';
import type { ImportContext } from '../import-context.ts';

/*
 * A departure is a record that an owner's partners could see until a release. The feed of changes lists it as removed.
 * A draft that was never published has none.
 */

type Departed = Pick<DepartureRow, 'id' | 'owner'>;

/** Records the departures of replaced records: from each owner that the new row no longer has. */
export async function recordMoves(
  context: ImportContext,
  kind: IndexedKind,
  written: readonly { readonly before: { readonly row: object } | null; readonly row: object }[],
): Promise<void> {
  const departed = written.flatMap(({ before, row }): Departed[] => {
    if (before === null) return [];
    const { id } = row as OwnedRow;
    const kept = ownersOf(kind, row as OwnedRow);
    return [...ownersOf(kind, before.row as OwnedRow).difference(kept)].map((owner) => ({ id, owner }));
  });
  await recordDepartures(context, kind, departed);
}

/** Records the departures of these records from all their owners. Call it before deleting their rows. */
export async function recordRemovals(context: ImportContext, kind: IndexedKind, ids: readonly string[]): Promise<void> {
  const { engine, kysely } = context.database;
  const columns = ownerColumns(kind).map((column) => sql.ref(column));
  const { rows } = await sql<OwnedRow>`select ${sql.join(columns)} from ${sql.table(`catalog.${kind}`)}
    where ${isOneOf(engine, sql.ref('id'), ids)}`.execute(kysely);
  const departed = rows.flatMap((row) => Array.from(ownersOf(kind, row), (owner) => ({ id: row.id, owner })));
  await recordDepartures(context, kind, departed);
}

/** Records departures with this release. An earlier one of the same record from the same owner is replaced. */
export async function recordDepartures(
  { database: { engine, kysely }, release, departures }: ImportContext,
  kind: IndexedKind,
  departed: readonly Departed[],
): Promise<void> {
  departures.written += departed.length;
  for (const batch of inBatches(departed)) {
    await sql`insert into catalog.departures (kind, id, owner, release)
      select cast(${kind} as text), departed.value ->> 'id', departed.value ->> 'owner', cast(${release} as bigint)
      from ${jsonElements(engine, JSON.stringify(batch), 'departed')} where true
      on conflict (kind, id, owner) do update set release = excluded.release`.execute(kysely);
  }
}

/**
 * Deletes departures of releases before a timestamp. Clients that last read the feed before then must get every record,
 * so `complete_before` becomes the timestamp of the newest of these releases. Served by the index on the release.
 */
export async function pruneDepartures(
  { database: { kysely }, departures }: ImportContext,
  before: string,
): Promise<void> {
  const { rows } = await sql<{ number: number; instant: string }>`select number, instant from catalog.publications
    where number = (select max(release) from catalog.departures where release <=
      (select number from catalog.publications where instant < ${before} order by instant desc limit 1))`.execute(
    kysely,
  );
  const [newest] = rows;
  if (newest === undefined) return;
  const deleted = await sql`delete from catalog.departures where release <= ${newest.number}`.execute(kysely);
  departures.deleted = Number(deleted.numAffectedRows ?? 0);
  await completeBefore(kysely, newest.instant);
}

/** Makes listings of changes since this timestamp or an earlier one complete. */
export async function completeBefore(kysely: Kysely<Tables>, timestamp: string): Promise<void> {
  await sql`update catalog.feed set complete_before = ${timestamp} where complete_before < ${timestamp}`.execute(
    kysely,
  );
}
