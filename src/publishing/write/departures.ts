import { sql } from 'kysely';
import { ownerColumns, ownersOf, type OwnedRow } from '../../access/visibility/owners.ts';
import type { Database } from '../../database/database.ts';
import { isOneOf, jsonElements } from '../../database/statement.ts';
import { inBatches } from '../../database/rows.ts';
import type { DepartureRow } from '../../database/tables.ts';
import type { IndexedKind } from '../../kinds.ts';
import type { ImportContext } from '../import-context.ts';

/*
 * A departure is a record that an owner's partners could see until a release. The feed of changes lists it as removed.
 * A draft that was never published has none.
 */

type Departed = Pick<DepartureRow, 'id' | 'owner'>;

/** Records that written records departed from the owners that they no longer have. */
export async function recordMoves(
  context: ImportContext,
  kind: IndexedKind,
  written: readonly { readonly before: { readonly row: object } | null; readonly row: object }[],
): Promise<void> {
  const departed = written.flatMap(({ before, row }): Departed[] => {
    const { id } = row as OwnedRow;
    const former = before === null ? new Set<string>() : ownersOf(kind, before.row as OwnedRow);
    const kept = ownersOf(kind, row as OwnedRow);
    context.losses.add(kind, former, kept);
    return Array.from(former.difference(kept), (owner) => ({ id, owner }));
  });
  await recordDepartures(context, kind, departed);
}

/** Records the departures of these records from all their owners. Call it before deleting their rows. */
export async function recordRemovals(context: ImportContext, kind: IndexedKind, ids: readonly string[]): Promise<void> {
  const { engine, kysely } = context.database;
  const columns = ownerColumns(kind).map((column) => sql.ref(column));
  const { rows } = await sql<OwnedRow>`select ${sql.join(columns)} from ${sql.table(`catalog.${kind}`)}
    where ${isOneOf(engine, sql.ref('id'), ids)}`.execute(kysely);
  const departed = rows.flatMap((row) => {
    const former = ownersOf(kind, row);
    context.losses.add(kind, former, new Set());
    return Array.from(former, (owner) => ({ id: row.id, owner }));
  });
  await recordDepartures(context, kind, departed);
}

/** Records departures with this release. An earlier one of the same record from the same owner is replaced. */
export async function recordDepartures(
  { database: { engine, kysely }, release }: ImportContext,
  kind: IndexedKind,
  departed: readonly Departed[],
): Promise<void> {
  for (const batch of inBatches(departed)) {
    await sql`insert into catalog.departures (kind, id, owner, release)
      select cast(${kind} as text), departed.value ->> 'id', departed.value ->> 'owner', cast(${release} as bigint)
      from ${jsonElements(engine, JSON.stringify(batch), 'departed')} where true
      on conflict (kind, id, owner) do update set release = excluded.release`.execute(kysely);
  }
}

/** Deletes departures of releases before one, which no known watermark needs. Served by the index on the release. */
export async function pruneDepartures({ kysely }: Database, release: number): Promise<void> {
  await sql`delete from catalog.departures where release < ${release}`.execute(kysely);
}
