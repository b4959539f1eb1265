import { sql, type RawBuilder, type SqlBool } from 'kysely';
import { OWNERS, shownBy } from '../../access/visibility/rules.ts';
import type { Database } from '../../database/database.ts';
import { isOneOf } from '../../database/statement.ts';
import { facetTerm, type StoredRow, type SupplierPath } from '../terms.ts';
import type { IndexedKind } from '../../kinds.ts';

/** The table of a kind's index; all three have the same columns. */
export function indexTable(kind: IndexedKind): 'catalog.suppliers_index' {
  return `catalog.${kind}_index` as 'catalog.suppliers_index';
}

const TEXTS: Readonly<Record<IndexedKind, readonly string[]>> = {
  suppliers: ['document', 'short_intro', 'about'],
  contracts: ['document'],
  solicitations: ['document', 'detail'],
};

/** The stored records with these ids, unordered. Served by the unique index on id. */
export async function loadStoredRows<K extends IndexedKind>(database: Database, kind: K, ids: readonly string[]) {
  return loadRows(database, kind, isOneOf(database.engine, sql.ref('id'), ids));
}

/** The bytes of a record's columns that can be long. */
export function textBytes(kind: IndexedKind): RawBuilder<number> {
  return sql<number>`${sql.join(
    TEXTS[kind].map((column) => sql`coalesce(octet_length(${sql.ref(column)}), 0)`),
    sql` + `,
  )}`;
}

const MAX_BATCH_BYTES = 512 * 1024;

/** The stored records at positions from `from` up to `to`, in order, in batches of about half a megabyte. */
export async function* readIndexedRows<K extends IndexedKind>(database: Database, kind: K, from: number, to: number) {
  const { rows: sizes } = await sql<{ position: number; bytes: number }>`
    select position, ${textBytes(kind)} as bytes from ${sql.table(`catalog.${kind}`)}
    where position >= ${from} and position < ${to} order by position`.execute(database.kysely);
  let [start, batchBytes] = [from, 0];
  for (const [index, { position, bytes: size }] of sizes.entries()) {
    batchBytes += size;
    if (batchBytes < MAX_BATCH_BYTES && index < sizes.length - 1) continue;
    const isInBatch = sql<SqlBool>`position >= ${start} and position <= ${position}`;
    const rows = await loadRows(database, kind, isInBatch);
    yield rows.sort((one, other) => one.position - other.position);
    [start, batchBytes] = [position + 1, 0];
  }
}

async function loadRows<K extends IndexedKind>(
  database: Database,
  kind: K,
  condition: RawBuilder<SqlBool>,
): Promise<StoredRow[K][]> {
  const { rows } = await sql<StoredRow[K]>`
    select * from ${sql.table(`catalog.${kind}`)} where ${condition}`.execute(database.kysely);
  return kind === 'suppliers' ? withLinks(database, rows) : rows;
}

/** Adds each supplier's city services, and the owners whose contracts name it. */
async function withLinks<Row extends { id: string }>(
  { engine, kysely }: Database,
  rows: readonly Row[],
): Promise<Row[]> {
  const ids = rows.map(({ id }) => id);
  const isAmong = isOneOf(engine, sql.ref('supplier_id'), ids);
  const { rows: services } = await sql<{ supplier_id: string; id: string }>`
    select supplier_id, city_service_id as id from catalog.supplier_city_services where ${isAmong}`.execute(kysely);
  const pathsOfOwners = shownBy('suppliers').map(([owner]) => {
    const { suppliers, column } = OWNERS[owner];
    // The terms of the owners: a prefix, and the id.
    return sql`select supplier_id, ${facetTerm(owner, '')} || ${sql.ref(column)} as owner, since_release as since
      from ${sql.raw(suppliers)} where ${isAmong}`;
  });
  const allPaths = sql<SupplierPath & { supplier_id: string }>`${sql.join(pathsOfOwners, sql` union all `)}`;
  const { rows: paths } = await allPaths.execute(kysely);
  const servicesOf = Map.groupBy(services, ({ supplier_id }) => supplier_id);
  const pathsOf = Map.groupBy(paths, ({ supplier_id }) => supplier_id);
  return rows.map((row) => ({
    ...row,
    city_services: (servicesOf.get(row.id) ?? []).map(({ id }) => id),
    paths: (pathsOf.get(row.id) ?? []).map(({ owner, since }) => ({ owner, since })),
  }));
}
