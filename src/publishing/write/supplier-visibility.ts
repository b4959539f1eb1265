import { sql } from 'kysely';
import { EVERYTHING, ownerKey } from '../../access/visibility/owners.ts';
import { OWNERS, shownBy } from '../../access/visibility/rules.ts';
import { facetTerm, pathTerms } from '../../index/terms.ts';
import { insertRows } from '../../database/rows.ts';
import type { ImportContext } from '../import-context.ts';
import { recordDepartures } from './departures.ts';

interface Path {
  readonly owner: string;
  readonly supplier_id: string;
  readonly since_release: number;
  readonly position: number;
}

/**
 * Updates which suppliers each lead entity and coop makes visible through a contract. New pairs get this release, so that
 * a sync finds a supplier that a contract has added. Reads all contracts, so it is called only if one changed.
 */
export async function updateSupplierVisibility(context: ImportContext): Promise<void> {
  const { database, release } = context;
  const { kysely } = database;
  const index = context.index.suppliers;
  for (const [ownerKind] of shownBy('suppliers')) {
    const { suppliers: table, column } = OWNERS[ownerKind];
    const path = sql.table(table);
    const owner = sql.ref(column);
    const named = sql`select contract.${owner} as owner, named.supplier_id
      from catalog.contract_suppliers as named
      join catalog.contracts as contract on contract.id = named.contract_id
      where contract.${owner} is not null`;
    const stored = sql`select ${owner} as owner, supplier_id from ${path}`;
    // A set difference is computed once, whatever table sizes the planner assumes.
    const { rows: added } = await sql<Path>`
      select pair.owner, pair.supplier_id, cast(${release} as bigint) as since_release, supplier.position
      from (${named} except ${stored}) as pair
      join catalog.suppliers as supplier on supplier.id = pair.supplier_id`.execute(kysely);
    // With the suppliers that this release removes, which have no position.
    const { rows: removed } = await sql<Omit<Path, 'position'> & { readonly position: number | null }>`
      select pair.owner, pair.supplier_id, known.since_release, supplier.position
      from (${stored} except ${named}) as pair
      join ${path} as known on known.supplier_id = pair.supplier_id and known.${owner} = pair.owner
      left join catalog.suppliers as supplier on supplier.id = pair.supplier_id`.execute(kysely);
    const rows = added.map(({ owner: id, supplier_id }) => ({ [column]: id, supplier_id, since_release: release }));
    await insertRows(database, table, rows);
    if (removed.length > 0)
      await sql`delete from ${path} where (${owner}, supplier_id) in (${stored} except ${named})`.execute(kysely);
    const departed = removed.map((pair) => ({ id: pair.supplier_id, owner: ownerKey(ownerKind, pair.owner) }));
    await recordDepartures(context, 'suppliers', departed);
    const termsOf = (path: Omit<Path, 'position'>): string[] =>
      pathTerms({ owner: facetTerm(ownerKind, path.owner), since: path.since_release });
    for (const pair of added) index.changeTerms(pair.position, [], termsOf(pair));
    await index.writeIfLarge();
    for (const pair of removed) if (pair.position !== null) index.changeTerms(pair.position, termsOf(pair), []);
    await index.writeIfLarge();
  }
  if (context.losses.hasPartners) await countChanged(context);
}

/** Counts the suppliers whose owners this release changed, by all owners that each had and has. */
async function countChanged({ database: { kysely }, losses, release }: ImportContext): Promise<void> {
  const paths = shownBy('suppliers').map(([owner]) => {
    const { suppliers, column } = OWNERS[owner];
    const key = sql`${ownerKey(owner, '')} || ${sql.ref(column)}`;
    return sql`select supplier_id as id, ${key} as owner, since_release as since from ${sql.table(suppliers)}`;
  });
  const { rows } = await sql<{ id: string; owner: string; since: number | null }>`
    with path as (${sql.join(paths, sql` union all `)}), gone as (select id, owner, cast(null as bigint) as since
      from catalog.departures where kind = 'suppliers' and release = ${release} and owner <> ${EVERYTHING})
    select * from path where id in (select id from path where since = ${release} union select id from gone)
    union all select * from gone`.execute(kysely);
  for (const owners of Map.groupBy(rows, ({ id }) => id).values()) {
    const without = (since: number | null) =>
      new Set(owners.filter((each) => each.since !== since).map(({ owner }) => owner));
    losses.add('suppliers', without(release), without(null));
  }
}
