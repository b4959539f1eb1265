import { sql, type RawBuilder } from 'kysely';
import { isOneOf } from '../../database/engine-sql.ts';
import { deleteRows, insertRows, writeRows } from '../../database/rows.ts';
import type { Tables } from '../../database/tables.ts';
import type { IndexedRow } from '../../index/terms.ts';
import type { IndexChanges } from '../../index/write/index-changes.ts';
import { isIndexed, TABLE_OF, type IndexedKind, type Kind } from '../../kinds.ts';
import type { Counts, ImportContext } from '../import-context.ts';
import type { KeyLines, PlannedKey } from '../positions/position-plan.ts';
import { keyField, type PreparedRecord } from '../records.ts';
import { hasOwnTable, keysIn, loadSupplierBytes, NOUN_OF, REFERENCES, type Reference } from './references.ts';

/** A record and its origin. */
export interface Entry<K extends Kind> {
  readonly line: number;
  readonly key: string;
  /** The position planned for a new record; null if it is stored, or its kind has no index. */
  readonly position: PlannedKey['position'];
  readonly lineHash: string;
  readonly record: PreparedRecord[K];
  /** Hash of the record: equal hashes mean equal records. */
  readonly hash: string;
  /** The line's `updated_at`. */
  readonly updatedAt: string | null;
}

type RowOf<K extends Kind> = Tables[`catalog.${(typeof TABLE_OF)[K]}`];

/** A new or changed record; `before` has the stored columns, and is null for a new record. */
interface Change<K extends Kind, Stored extends object = object> {
  readonly entry: Entry<K>;
  readonly before: Stored | null;
}

/** A changed record, and the row to store. */
interface RenderedChange<K extends Kind> extends Change<K> {
  readonly row: RowOf<K>;
}

/** Adds a problem of a line's field; `line` is null if the line is unknown. */
export type Report = (line: number | null, field: string, reason: string) => void;

/** The rules for the records of one kind. Their references are in `REFERENCES`. */
export interface KindRules<K extends Kind, Stored extends object = object> {
  /** The columns of stored rows that `isUnchanged` and `render` need. */
  readonly columns: readonly string[];
  /** Reports further problems of a record. `supplierBytes` has the sizes of the suppliers that it names. */
  check?(entry: Entry<K>, supplierBytes: ReadonlyMap<string, number>): void;
  /** Reports problems between lines, after the last one. */
  checkWhole?(): void;
  isUnchanged(before: Stored, entry: Entry<K>): boolean;
  /** Renders rows, in batches that fit into memory. Notes which records must be rerendered because of them. */
  render(changes: readonly Change<K, Stored>[]): AsyncIterable<RenderedChange<K>[]>;
  /** Values of other tables that a record's index terms are computed from. */
  indexedLinks?(entry: Entry<K>, before: IndexedRow[IndexedKind] | null): object;
  /** Reports problems between stored records, once everything is written. */
  checkStored?(lines: KeyLines): Promise<void>;
}

/** Renders all rows as one batch. */
export async function* renderAtOnce<K extends Kind, Stored extends object>(
  changes: readonly Change<K, Stored>[],
  render: (change: Change<K, Stored>) => RowOf<K>,
): AsyncGenerator<RenderedChange<K>[]> {
  yield changes.map((change) => ({ ...change, row: render(change) }));
}

/** The columns that all kinds with an index share. A kind can replace some of them. */
export function publishedColumns(
  context: ImportContext,
  kind: IndexedKind,
  { entry, before }: Change<IndexedKind, { position: number }>,
) {
  const position = before === null ? entry.position : before.position;
  if (position === null) throw new Error(`no position was planned for ${entry.key}`);
  return {
    position,
    id: entry.key,
    hash: entry.hash,
    line_hash: entry.lineHash,
    changed_publication: context.release,
    updated_at: before === null ? importedUpdatedAt(context, kind, entry.updatedAt) : null,
  };
}

/** The `updated_at` to store for a new record: the imported one if its kind was empty before, otherwise null. */
function importedUpdatedAt(context: ImportContext, kind: IndexedKind, updatedAt: string | null): string | null {
  if (updatedAt === null || !context.emptyKinds.has(kind)) return null;
  if (updatedAt > context.latestUpdatedAt) context.latestUpdatedAt = updatedAt;
  return updatedAt;
}

/** Checks, writes and removes the records of one kind, in batches. */
export class RecordWriter {
  readonly rules: KindRules<Kind>;
  readonly report: Report;
  readonly #context: ImportContext;
  readonly #kind: Kind;

  constructor(context: ImportContext, kind: Kind, rules: KindRules<Kind>, report: Report) {
    this.rules = rules;
    this.#context = context;
    this.#kind = kind;
    this.report = report;
  }

  /** Reports dangling references. Can run even if other problems prevent writing. */
  async check(entries: readonly Entry<Kind>[]): Promise<void> {
    const references = REFERENCES.filter(({ from }) => from === this.#kind);
    const named = references
      .filter(({ to }) => to === 'suppliers')
      .flatMap(({ field }) => entries.flatMap(({ record }) => keysIn(record, field)));
    const suppliers = await loadSupplierBytes(this.#context.database, named);
    for (const entry of entries) {
      for (const reference of references) {
        const { field, to } = reference;
        for (const [index, key] of keysIn(entry.record, field).entries()) {
          if (this.#context.referenceData.has(to, key, suppliers)) continue;
          const path = hasOwnTable(reference) ? `${field}[${index}]` : field;
          this.report(entry.line, path, `there is no ${NOUN_OF[to]} ${JSON.stringify(key)}`);
        }
      }
      this.rules.check?.(entry, suppliers);
    }
  }

  /** Writes new and changed records, and counts them. Keys must be distinct. */
  async write(entries: readonly Entry<Kind>[]): Promise<Omit<Counts, 'removed'>> {
    const stored = await this.#loadStored(entries.map(({ key }) => key));
    const counts = { added: 0, changed: 0, unchanged: 0 };
    const changes: Change<Kind>[] = [];
    for (const entry of entries) {
      const before = stored.get(entry.key) ?? null;
      if (before !== null && this.rules.isUnchanged(before, entry)) {
        counts.unchanged += 1;
        continue;
      }
      counts[before === null ? 'added' : 'changed'] += 1;
      changes.push({ entry, before });
    }
    await this.#context.changes?.recordWritten(this.#kind, changes);
    for await (const batch of this.rules.render(changes)) await this.#writeBatch(batch);
    return counts;
  }

  /** The stored columns of records, by key. Served by the unique index on the key. */
  async #loadStored(keys: readonly string[]): Promise<Map<string, object>> {
    const { database, emptyKinds } = this.#context;
    if (keys.length === 0 || emptyKinds.has(this.#kind)) return new Map();
    const columns = sql.join(this.rules.columns.map((column) => sql.ref(column)));
    const { rows } = await sql<{ key: string }>`
      select ${this.#key} as key, ${columns} from ${this.#table} where ${this.#isOneOf(keys)}`.execute(database.kysely);
    return new Map(rows.map((row) => [row.key, row]));
  }

  async #writeBatch(batch: readonly RenderedChange<Kind>[]): Promise<void> {
    const { database } = this.#context;
    const rows = batch.map(({ row }) => row as RowOf<IndexedKind>);
    const stored = rows.filter((_, at) => batch[at]?.before !== null);
    const index = this.#index;
    const indexed = await index?.loadBefore(stored);
    const written = batch.map(({ row, before }) => ({ row: row as never, isNew: before === null }));
    await writeRows(database, this.#tableName, keyField(this.#kind), written);
    await this.#writeReferences(batch);
    for (const { entry, row } of index === null ? [] : (batch as readonly RenderedChange<IndexedKind>[])) {
      const before = indexed?.get(row.id) ?? null;
      const links = this.rules.indexedLinks?.(entry, before);
      index?.replace(row.position, before, { ...row, ...links } as IndexedRow[IndexedKind]);
    }
    await index?.writeIfLarge();
  }

  /** Writes the references that have tables of their own. */
  async #writeReferences(batch: readonly RenderedChange<Kind>[]): Promise<void> {
    const stored = batch.flatMap(({ entry, before }) => (before === null ? [] : entry.key));
    for (const { field, table, owner, column } of this.#ownTables) {
      await deleteRows(this.#context.database, `catalog.${table}` as never, owner as never, stored);
      const rows = batch.flatMap(({ entry: { key, record } }) =>
        keysIn(record, field).map((named) => ({ [owner]: key, [column]: named })),
      );
      await insertRows(this.#context.database, `catalog.${table}` as never, rows as never[]);
    }
  }

  /** All stored keys. */
  async listKeys(): Promise<string[]> {
    const { rows } = await sql<{ key: string }>`
      select ${this.#key} as key from ${this.#table}`.execute(this.#context.database.kysely);
    return rows.map(({ key }) => key);
  }

  /** The keys that other records still refer to, each with a description of one such record. */
  async findReferrers(keys: readonly string[]): Promise<Map<string, string>> {
    const { engine, kysely } = this.#context.database;
    const referrers = new Map<string, string>();
    for (const { from, table, owner, column } of REFERENCES.filter(({ to }) => to === this.#kind)) {
      const { rows } = await sql<{ key: string; referrer: string }>`
        select ${sql.ref(column)} as key, min(${sql.ref(owner)}) as referrer from ${sql.table(`catalog.${table}`)}
        where ${isOneOf(engine, sql.ref(column), keys)} group by 1`.execute(kysely);
      for (const { key, referrer } of rows) referrers.set(key, `${NOUN_OF[from]} ${referrer}`);
    }
    return referrers;
  }

  /** Removes records from their table, the index and the tables of their references. */
  async remove(keys: readonly string[]): Promise<void> {
    const { changes, database, referenceData } = this.#context;
    await changes?.recordRemoved(this.#kind, keys);
    if (this.#index !== null) {
      const { rows } = await sql<{ id: string; position: number }>`
        select id, position from ${this.#table} where ${this.#isOneOf(keys)}`.execute(database.kysely);
      await this.#index.remove(rows);
    }
    for (const { table, owner } of this.#ownTables)
      await deleteRows(database, `catalog.${table}` as never, owner as never, keys);
    await deleteRows(database, this.#tableName, keyField(this.#kind) as never, keys);
    referenceData.remove(this.#kind, keys);
  }

  get #tableName(): keyof Tables {
    return `catalog.${TABLE_OF[this.#kind]}`;
  }

  get #table(): RawBuilder<unknown> {
    return sql.table(this.#tableName);
  }

  get #key(): RawBuilder<unknown> {
    return sql.ref(keyField(this.#kind));
  }

  get #index(): IndexChanges<IndexedKind> | null {
    return isIndexed(this.#kind) ? this.#context.index[this.#kind] : null;
  }

  get #ownTables(): readonly Reference[] {
    return REFERENCES.filter((reference) => reference.from === this.#kind && hasOwnTable(reference));
  }

  #isOneOf(keys: readonly string[]): RawBuilder<unknown> {
    return isOneOf(this.#context.database.engine, this.#key, keys);
  }
}
