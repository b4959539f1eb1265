import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { isOneOf } from '../../database/engine-sql.ts';
import { inBatches } from '../../database/rows.ts';
import type { SupplierRow } from '../../database/tables.ts';
import { TABLE_OF, type Kind } from '../../kinds.ts';
import { completerOf, RECORD_SCHEMAS } from '../read/record-schemas.ts';
import type { SupplierRecord } from '../../resources/suppliers/fields.ts';
import { contentHash, contractRecordOf, keyField } from '../records.ts';

/** Few enough for memory: contracts and solicitations have up to 2 MiB each. */
const BATCH_RECORDS = 50;

/** A supplier's texts with more line breaks than this are not searched for the place where they were joined. */
const MAX_LINE_BREAKS = 1_000;

/**
 * Reads stored records back into the import format, in batches of bounded size.
 *
 * `short_intro` and `about` of a supplier are missing if they cannot be read back: version 1.1 did not store them.
 *
 * @param imported imported records by key, whose texts are tried first.
 * @returns the records that are stored, with their keys and in their order. Served by the unique index on the key.
 */
export async function* loadStoredRecords(
  database: Database,
  kind: Kind,
  keys: readonly string[],
  imported: ReadonlyMap<string, object> = new Map(),
): AsyncGenerator<[key: string, record: object]> {
  for (const batch of inBatches(keys, BATCH_RECORDS)) {
    const stored = new Map(await loadBatch(database, kind, batch, imported as ReadonlyMap<string, SupplierRecord>));
    for (const key of batch) {
      const record = stored.get(key);
      if (record !== undefined) yield [key, record];
    }
  }
}

async function loadBatch(
  database: Database,
  kind: Kind,
  keys: readonly string[],
  imported: ReadonlyMap<string, SupplierRecord>,
): Promise<[key: string, record: object][]> {
  if (kind === 'suppliers') return loadSuppliers(database, keys, imported);
  const key = sql.ref<string>(keyField(kind));
  const detail = kind === 'solicitations' ? sql`detail` : sql`''`;
  const { rows } = await sql<{ key: string; document: string; detail: string }>`
    select ${key} as key, document, ${detail} as detail from ${sql.table(`catalog.${TABLE_OF[kind]}`)}
    where ${isOneOf(database.engine, key, keys)}`.execute(database.kysely);
  return rows.map(({ key, document, detail }) => {
    if (kind === 'solicitations') return [key, solicitationRecordOf(document, detail)];
    return [key, complete(kind, kind === 'contracts' ? contractRecordOf(document) : (JSON.parse(document) as object))];
  });
}

/** The record of a rendered solicitation, of which both columns lack something: see `SolicitationRow`. */
export function solicitationRecordOf(document: string, detail: string): object {
  const rendered = JSON.parse(`${document}${detail}}`) as { lead_entity: { id: string } };
  return complete('solicitations', { ...rendered, lead_entity_id: rendered.lead_entity.id });
}

/** The fields of the import format, in its order, as when the record was imported. */
function complete(kind: Kind, fields: object): object {
  return completerOf(RECORD_SCHEMAS[kind])(fields) as object;
}

async function loadSuppliers(
  { engine, kysely }: Database,
  ids: readonly string[],
  imported: ReadonlyMap<string, SupplierRecord>,
): Promise<[string, object][]> {
  const rows = await kysely
    .selectFrom('catalog.suppliers')
    .select(['id', 'document', 'hash', 'searched', 'certifications_all'])
    .where((eb) => isOneOf(engine, eb.ref('id'), ids))
    .execute();
  const offered = await kysely
    .selectFrom('catalog.supplier_city_services')
    .select(['supplier_id', 'city_service_id'])
    .where((eb) => isOneOf(engine, eb.ref('supplier_id'), ids))
    .execute();
  const services = Map.groupBy(offered, ({ supplier_id }) => supplier_id);
  return rows.map((row) => {
    const known = {
      ...(JSON.parse(`${row.document}}`) as object),
      certifications: JSON.parse(row.certifications_all) as string[],
      city_service_ids: (services.get(row.id) ?? []).map(({ city_service_id }) => city_service_id),
    };
    return [row.id, supplierRecordOf(row, known, imported.get(row.id))];
  });
}

/**
 * A supplier's record. Its two texts are stored joined by a line break, and the hash of the record tells at which one
 * they were joined.
 */
function supplierRecordOf(
  { hash, searched }: Pick<SupplierRow, 'hash' | 'searched'>,
  known: object,
  imported: SupplierRecord | undefined,
): object {
  for (const texts of textsOf(searched, imported)) {
    const record = complete('suppliers', { ...known, ...texts });
    if (contentHash(JSON.stringify(record)) === hash) return record;
  }
  const { short_intro: _, about: __, ...others } = complete('suppliers', known) as SupplierRecord;
  return others;
}

type SupplierTexts = Pick<SupplierRecord, 'short_intro' | 'about'>;

/** The texts that can have been joined to `searched`, most likely first. */
function* textsOf(searched: string, imported: SupplierTexts | undefined): Generator<SupplierTexts> {
  if (imported !== undefined) yield { short_intro: imported.short_intro, about: imported.about };
  if (searched === '') yield { short_intro: null, about: null };
  yield { short_intro: null, about: searched };
  yield { short_intro: searched, about: null };
  let at = searched.indexOf('\n');
  for (let count = 0; at !== -1 && count < MAX_LINE_BREAKS; count += 1) {
    yield { short_intro: searched.slice(0, at), about: searched.slice(at + 1) };
    at = searched.indexOf('\n', at + 1);
  }
}
