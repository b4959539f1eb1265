import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Database } from '../../database/database.ts';
import { isOneOf } from '../../database/statement.ts';
import { facetTerm, type StoredRow, type SupplierPath } from '../terms.ts';
import type { IndexedKind } from '../../kinds.ts';

/** The table of a kind's index; all three have the same columns. */
export function indexTable(kind: IndexedKind): 'catalog.suppliers_index' {
  return `catalog.${kind}_index` as 'catalog.suppliers_index';
}

/** The columns that can be long. */
const TEXTS: Readonly<Record<IndexedKind, readonly string[]>> = {
  suppliers: ['document', 'short_intro', 'about'],
  contracts: ['document'],
  solicitations: ['document', 'detail'],
};

/** The stored records with these ids, unordered. Served by the unique index on id. */
export async function loadStoredRows<K extends IndexedKind>(
  database: Database,
  kind: K,
  ids: readonly string[],
): Promise<StoredRow[K][]> {
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
export async function* readIndexedRows<K extends IndexedKind>(
  database: Database,
  kind: K,
  from: number,
  to: number,
): AsyncGenerator<StoredRow[K][]> {
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
  const linksOf = async (
    table: string,
    columns: readonly string[],
  ): Promise<Map<string, Record<string, unknown>[]>> => {
    const { rows: links } = await sql<Record<string, unknown> & { supplier_id: string }>`
      select supplier_id, ${sql.join(columns.map((column) => sql.ref(column)))} from ${sql.table(`catalog.${table}`)}
      where ${isOneOf(engine, sql.ref('supplier_id'), ids)}`.execute(kysely);
    return Map.groupBy(links, ({ supplier_id }) => supplier_id);
  };
  const services = await linksOf('supplier_city_services', ['city_service_id']);
  const leadEntities = await linksOf('supplier_lead_entities', ['lead_entity_id', 'since_publication']);
  const coops = await linksOf('supplier_coops', ['coop_id', 'since_publication']);
  return rows.map((row) => ({
    ...row,
    city_services: (services.get(row.id) ?? []).map(({ city_service_id }) => String(city_service_id)),
    paths: [
      ...(leadEntities.get(row.id) ?? []).map((path) => pathOf('lead_entity', path)),
      ...(coops.get(row.id) ?? []).map((path) => pathOf('coop', path)),
    ],
  }));
}

function pathOf(facet: 'lead_entity' | 'coop', row: Record<string, unknown>): SupplierPath {
  return { owner: facetTerm(facet, String(row[`${facet}_id`])), since: Number(row['since_publication']) };
}
