import { sql, type RawBuilder } from 'kysely';
import type { Database } from '../../database/database.ts';
import { loadValues } from '../../database/rows.ts';
import { isOneOf } from '../../database/statement.ts';
import type { Tables } from '../../database/tables.ts';
import type { StoredRow as IndexedStoredRow } from '../../index/terms.ts';
import { loadStoredRows, textBytes } from '../../index/write/indexed-rows.ts';
import { isIndexed, keyField, TABLE_OF, type IndexedKind, type Kind } from '../../kinds.ts';
import type { PlannedKey } from '../positions/position-plan.ts';
import { readFields } from '../../resources/rendered-fields.ts';
import { getFrom } from './references.ts';
import { completerOf, FIELDS, RECORD_SCHEMAS, type RecordOf } from '../read/record-schemas.ts';

/** The row of a record in its table. */
export type RowOf<K extends Kind> = Tables[`catalog.${(typeof TABLE_OF)[K]}`];

/** A stored row, with the links that are not columns. */
type StoredRow<K extends Kind> = K extends IndexedKind ? IndexedStoredRow[K] : RowOf<K>;

/** A record and its origin. */
export interface Entry<K extends Kind> {
  readonly line: number;
  readonly key: string;
  /** The position planned for a new record; null if it is stored, or its kind has no index. */
  readonly position: PlannedKey['position'];
  readonly lineHash: string;
  readonly record: RecordOf[K];
  /** The line's `updated_at`; null if it has none. */
  readonly updatedAt: string | null;
}

/** A stored record: its row, and what was imported. */
export interface StoredRecord<K extends Kind> {
  readonly row: StoredRow<K>;
  readonly record: RecordOf[K];
  /** Whether its text lacks a field, which was declared after the text was rendered. */
  readonly isOutdated: boolean;
}

/** Texts loaded or rendered at once, in bytes: 500 of the longest contracts would take 1 GB. */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

/** Splits a list into batches of at most `MAX_BATCH_BYTES`; each has at least one item. */
export function* batchesBySize<T>(items: readonly T[], bytesOf: (item: T) => number): Generator<T[]> {
  let batch: T[] = [];
  let batchBytes = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    if (batch.length > 0 && batchBytes + bytes > MAX_BATCH_BYTES) {
      yield batch;
      batch = [];
      batchBytes = 0;
    }
    batch.push(item);
    batchBytes += bytes;
  }
  if (batch.length > 0) yield batch;
}

/** The sizes of the stored records among these, in bytes. Served by the unique index on the key. */
export function loadStoredBytes(database: Database, kind: Kind, keys: readonly string[]): Promise<Map<string, number>> {
  return loadValues(database, kind, keys, storedBytes(kind));
}

function storedBytes(kind: Kind): RawBuilder<number> {
  return isIndexed(kind) ? textBytes(kind) : sql<number>`octet_length(document)`;
}

/** Keys read at once, of records that are then loaded in batches by size. */
const KEYS_AT_ONCE = 500;

/** All records of a kind as they were imported, in the bytewise order of their keys, in batches. Call it in a snapshot. */
export async function* readRecords<K extends Kind>(database: Database, kind: K): AsyncGenerator<RecordOf[K][]> {
  const key = sql.ref<string>(keyField(kind));
  for (let last: string | undefined = ''; last !== undefined;) {
    const { rows } = await sql<{ key: string; bytes: number }>`select ${key} as key, ${storedBytes(kind)} as bytes
      from ${sql.table(`catalog.${TABLE_OF[kind]}`)} where ${key} > ${last}
      order by ${key} limit ${sql.lit(KEYS_AT_ONCE)}`.execute(database.kysely);
    for (const batch of batchesBySize(rows, ({ bytes }) => bytes)) {
      const keys = batch.map((row) => row.key);
      const stored = await loadStored(database, kind, keys);
      yield keys.map((each) => getFrom(stored, each).record);
    }
    last = rows.at(-1)?.key;
  }
}

/** The stored records among these, by key: few enough for memory. Served by the unique index on the key. */
export async function loadStored<K extends Kind>(
  database: Database,
  kind: K,
  keys: readonly string[],
): Promise<Map<string, StoredRecord<K>>> {
  if (keys.length === 0) return new Map();
  const rows = isIndexed(kind) ? await loadStoredRows(database, kind, keys) : await loadRows(database, kind, keys);
  const complete = completerOf(RECORD_SCHEMAS[kind]);
  return new Map(
    (rows as StoredRow<K>[]).map((row) => {
      const fields = fieldsOf(kind, row);
      const isOutdated = Object.values(fields).includes(undefined);
      const record = complete(fields) as RecordOf[K];
      return ['abbreviation' in row ? row.abbreviation : row.id, { row, record, isOutdated }];
    }),
  );
}

async function loadRows({ engine, kysely }: Database, kind: Kind, keys: readonly string[]): Promise<readonly object[]> {
  const { rows } = await sql<object>`select * from ${sql.table(`catalog.${TABLE_OF[kind]}`)}
    where ${isOneOf(engine, sql.ref(keyField(kind)), keys)}`.execute(kysely);
  return rows;
}

/** Reads a rendered record back: the fields of the import format, in any order. */
function fieldsOf(kind: Kind, row: object): object {
  const { document, detail = '' } = row as { readonly document: string; readonly detail?: string };
  const fields = readFields(FIELDS[kind], JSON.parse(isIndexed(kind) ? `${document}${detail}}` : document) as object);
  if (kind !== 'suppliers') return fields;
  const { certifications_all, city_services, short_intro, about } = row as StoredRow<'suppliers'>;
  const certifications = JSON.parse(certifications_all) as string[];
  return { ...fields, certifications, city_service_ids: city_services, short_intro, about };
}
