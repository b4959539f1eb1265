import { sql } from 'kysely';
import { ownerKey } from '../../access/visibility/owners.ts';
import { isDraft, shownBy } from '../../access/visibility/rules.ts';
import { isOneOf } from '../../database/statement.ts';
import { deleteRows, inBatches, insertRows, loadValues, writeRows } from '../../database/rows.ts';
import type { Tables } from '../../database/tables.ts';
import type { StoredRow } from '../../index/terms.ts';
import type { IndexChanges } from '../../index/write/index-changes.ts';
import { isIndexed, keyField, TABLE_OF, type IndexedKind, type Kind } from '../../kinds.ts';
import type { Counts, ImportContext } from '../import-context.ts';
import { describeChange } from '../preview/record-changes.ts';
import type { RecordOf } from '../read/record-schemas.ts';
import { hasOwnTable, keysIn, NOUN_OF, REFERENCES, type Reference } from './references.ts';
import { recordMoves, recordRemovals } from './departures.ts';
import { contractBytes, rendererOf, rowOf, type Change, type RenderedChange } from './render-row.ts';
import { RULES, type KindRules, type Report } from './rules.ts';
import {
  batchesBySize,
  loadStored,
  loadStoredBytes,
  type Entry,
  type RowOf,
  type StoredRecord,
} from './stored-records.ts';

interface WrittenChange<K extends IndexedKind> extends Change<K> {
  readonly row: RowOf<K>;
}

/** Checks, renders, writes and removes the records of one kind, in batches. */
export class RecordWriter {
  readonly rules: KindRules<Kind>;
  readonly report: Report;
  readonly #context: ImportContext;
  readonly #kind: Kind;
  /** PostgreSQL can still be writing the last rows. */
  #written = Promise.resolve();

  constructor(context: ImportContext, kind: Kind, report: Report) {
    this.rules = RULES[kind]?.(context, report) ?? {};
    this.#context = context;
    this.#kind = kind;
    this.report = report;
  }

  /** Reports dangling references. Can run even if other problems prevent writing. */
  async check(entries: readonly Entry<Kind>[]): Promise<void> {
    const references = REFERENCES.filter(({ from }) => from === this.#kind);
    const suppliers = await this.#loadSupplierBytes(entries.map(({ record }) => record));
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

  /** Writes new and changed records, and adds them to `counts`. Keys must be distinct. */
  async write(entries: readonly Entry<Kind>[], counts: Counts): Promise<void> {
    const { database, emptyKinds } = this.#context;
    const keys = emptyKinds.has(this.#kind) ? [] : entries.map(({ key }) => key);
    const bytes = await loadStoredBytes(database, this.#kind, keys);
    for (const batch of batchesBySize(entries, ({ key }) => bytes.get(key) ?? 0)) {
      const known = batch.map(({ key }) => key).filter((key) => bytes.has(key));
      const stored = await loadStored(database, this.#kind, known);
      const changes: Change<Kind>[] = [];
      for (const entry of batch) {
        const { key, record } = entry;
        const before = stored.get(key) ?? null;
        const isUnchanged = before?.isOutdated === false && JSON.stringify(before.record) === JSON.stringify(record);
        const outcome = isUnchanged ? 'unchanged' : 'changed';
        counts[before === null ? 'added' : outcome] += 1;
        if (!isUnchanged) changes.push({ key, record, entry, before });
      }
      this.#describe(changes);
      await this.#renderAndWrite(changes);
    }
  }

  /** Resolves once all rows are written. @throws the server's error. */
  finish(): Promise<void> {
    return this.#written;
  }

  /**
   * Renders stored records again, and writes those whose text changed. Returns their number.
   *
   * @param isAllowed whether to write a record of this size, in bytes: see `contractBytes`.
   */
  async rerender(
    keys: Iterable<string>,
    isAllowed: (record: RecordOf[Kind], bytes: number, supplierBytes: ReadonlyMap<string, number>) => boolean,
  ): Promise<number> {
    const { database, pause } = this.#context;
    let written = 0;
    for (const batch of inBatches([...keys])) {
      await pause();
      const bytes = await loadStoredBytes(database, this.#kind, batch);
      for (const few of batchesBySize(batch, (key) => bytes.get(key) ?? 0)) {
        const stored = await loadStored(database, this.#kind, few);
        const changes = Array.from(stored, ([key, before]) => ({ key, record: before.record, entry: null, before }));
        written += await this.#renderAndWrite(changes, isAllowed);
      }
    }
    return written;
  }

  /** Renders in batches that fit into memory. Returns the number of records written. */
  async #renderAndWrite(
    changes: readonly Change<Kind>[],
    isAllowed: Parameters<RecordWriter['rerender']>[1] = () => true,
  ): Promise<number> {
    const suppliers = await this.#loadSupplierBytes(changes.map(({ record }) => record));
    const bytesOf = ({ record }: Change<Kind>): number =>
      this.#kind === 'contracts'
        ? contractBytes(record as RecordOf['contracts'], this.#context.referenceData, suppliers)
        : 0;
    const allowed = changes.filter((change) => isAllowed(change.record, bytesOf(change), suppliers));
    let written = 0;
    for (const batch of batchesBySize(allowed, bytesOf)) {
      const records = batch.map(({ record }) => record);
      const render = await rendererOf(this.#context, this.#kind, records);
      const rendered = batch.map((change) => ({ ...change, columns: render(change.record) }));
      written += await this.#writeRows(rendered);
      await this.#context.pause();
    }
    return written;
  }

  /** Skips records rerendered to the same text. Returns the number written. */
  async #writeRows(rendered: readonly RenderedChange[]): Promise<number> {
    const { changed, database, emptyKinds, referenceData } = this.#context;
    const written = rendered.flatMap((change) => {
      const row = rowOf(this.#context, this.#kind, change);
      return row === null ? [] : [{ ...change, row }];
    });
    for (const { key, before, columns } of written) {
      if (before !== null && before.row.document !== columns.document) changed.get(this.#kind)?.add(key);
      referenceData.put(this.#kind, key, columns);
    }
    if (isIndexed(this.#kind)) await recordMoves(this.#context, this.#kind, written);
    const rows = written.map(({ row, before }) => ({ row, isNew: before === null }));
    await this.#written;
    const sent = new Promise<void>((onSent) => {
      this.#written = writeRows(database, this.#tableName, keyField(this.#kind), rows, onSent);
    });
    // Awaited later; until then a rejection must not count as unhandled.
    this.#written.catch(() => undefined);
    // Parse the next lines while the server writes, unless other statements follow: their error would hide that of the COPY.
    const isAlone = emptyKinds.has(this.#kind) && this.#ownTables.length === 0;
    await (isAlone ? Promise.race([sent, this.#written]) : this.#written);
    await this.#writeReferences(written.filter(({ entry }) => entry !== null));
    await this.#changeIndex(written as readonly WrittenChange<IndexedKind>[]);
    return written.length;
  }

  async #changeIndex(written: readonly WrittenChange<IndexedKind>[]): Promise<void> {
    const index = this.#index;
    if (index === null) return;
    for (const { entry, record, before, row } of written) {
      if (entry === null) {
        // Only embedded text changed, which has no terms. Drafts are not in the index.
        if (before !== null && !('status' in row && isDraft(row))) index.markChanged(before.row, this.#context.release);
        continue;
      }
      // `updateSupplierVisibility` updates the paths at the end.
      const links = this.#kind === 'suppliers' && {
        city_services: (record as RecordOf['suppliers']).city_service_ids,
        paths: (before as StoredRecord<'suppliers'> | null)?.row.paths ?? [],
      };
      index.replace(row.position, before?.row ?? null, { ...row, ...links } as StoredRow[IndexedKind]);
    }
    await index.writeIfLarge();
  }

  async #writeReferences(written: readonly Change<Kind>[]): Promise<void> {
    const stored = written.flatMap(({ key, before }) => (before === null ? [] : key));
    for (const { field, table, owner, column } of this.#ownTables) {
      await deleteRows(this.#context.database, table, owner, stored);
      const rows = written.flatMap(({ key, record }) =>
        keysIn(record, field).map((named) => ({ [owner]: key, [column]: named })),
      );
      await insertRows(this.#context.database, table, rows);
    }
  }

  #describe(changes: readonly Change<Kind>[]): void {
    const { changes: sink } = this.#context;
    if (sink === null) return;
    for (const { key, record, before } of changes) {
      if (sink.room(this.#kind, before === null ? 'added' : 'changed') <= 0) continue;
      sink.add(describeChange(this.#kind, key, before?.record ?? null, record));
    }
  }

  async listKeys(): Promise<string[]> {
    const { rows } = await sql<{ key: string }>`
      select ${sql.ref(keyField(this.#kind))} as key from ${sql.table(this.#tableName)}`.execute(
      this.#context.database.kysely,
    );
    return rows.map(({ key }) => key);
  }

  /** The keys that other records still refer to, each with a description of one such record. */
  async findReferrers(keys: readonly string[]): Promise<Map<string, string>> {
    const { engine, kysely } = this.#context.database;
    const referrers = new Map<string, string>();
    for (const { from, table, owner, column } of REFERENCES.filter(({ to }) => to === this.#kind)) {
      const { rows } = await sql<{ key: string; referrer: string }>`
        select ${sql.ref(column)} as key, min(${sql.ref(owner)}) as referrer from ${sql.table(table)}
        where ${isOneOf(engine, sql.ref(column), keys)} group by 1`.execute(kysely);
      for (const { key, referrer } of rows) referrers.set(key, `${NOUN_OF[from]} ${referrer}`);
    }
    return referrers;
  }

  /** Removes records from their table, the index and the tables of their references. */
  async remove(keys: readonly string[]): Promise<void> {
    const { database } = this.#context;
    await this.#describeRemoved(keys);
    if (isIndexed(this.#kind)) await recordRemovals(this.#context, this.#kind, keys);
    const owner = shownBy(this.#kind).find(([, shown]) => shown === 'itself')?.[0];
    if (owner !== undefined) for (const key of keys) this.#context.losses.removed.add(ownerKey(owner, key));
    await this.#index?.remove(await loadValues(database, this.#kind, keys, sql.ref<number>('position')));
    for (const { table, owner } of this.#ownTables) await deleteRows(database, table, owner, keys);
    await deleteRows(database, this.#tableName, keyField(this.#kind), keys);
  }

  async #describeRemoved(keys: readonly string[]): Promise<void> {
    const { changes: sink, database } = this.#context;
    const some = sink === null ? [] : keys.slice(0, sink.room(this.#kind, 'removed'));
    const bytes = await loadStoredBytes(database, this.#kind, some);
    for (const batch of batchesBySize(some, (key) => bytes.get(key) ?? 0)) {
      const stored = await loadStored(database, this.#kind, batch);
      for (const key of batch) {
        const found = stored.get(key);
        if (found !== undefined) sink?.add(describeChange(this.#kind, key, found.record, null));
      }
    }
  }

  /** The sizes of the suppliers that these records name. Reads no document. */
  async #loadSupplierBytes(records: readonly RecordOf[Kind][]): Promise<Map<string, number>> {
    const fields = REFERENCES.filter(({ from, to }) => from === this.#kind && to === 'suppliers');
    const ids = fields.flatMap(({ field }) => records.flatMap((record) => keysIn(record, field)));
    return loadValues(this.#context.database, 'suppliers', [...new Set(ids)], sql<number>`octet_length(document)`);
  }

  get #tableName(): keyof Tables {
    return `catalog.${TABLE_OF[this.#kind]}`;
  }

  get #index(): IndexChanges<IndexedKind> | null {
    return isIndexed(this.#kind) ? this.#context.index[this.#kind] : null;
  }

  get #ownTables(): readonly Reference[] {
    return REFERENCES.filter((reference) => reference.from === this.#kind && hasOwnTable(reference));
  }
}
