import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { isOneOf, jsonElements } from '../../database/statement.ts';
import { inBatches, insertRows } from '../../database/rows.ts';
import type { Block } from '../block-query.ts';
import { BlockBuilder, type IndexEntry } from './block-builder.ts';
import type { BlockOfKind } from './build-blocks.ts';
import { indexTable, loadStoredRows } from './indexed-rows.ts';
import {
  BLOCK_SIZE,
  differenceOf,
  EMPTY_SET,
  encodeSet,
  unionOf,
  decodeStoredSet,
  storedSet,
  type StoredSet,
} from '../position-set.ts';
import { blockToken, changeTerms, detailChangeTerms, hasAllTerms, termsOf, type StoredRow } from '../terms.ts';
import { Tokenizer } from '../words.ts';
import type { IndexedKind } from '../../kinds.ts';

/** Beyond this number of new or changed records, rebuilding a block costs less than changing its rows. */
const MAX_CHANGES = 4_096;

/** Changes are written once they take this much memory, and at the end. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Index rows read and written together. */
const BATCH_TERMS = 2_000;

type IndexBlock = Omit<Block, 'prefix'>;

/** A stored record that moves to another position. */
export interface MovedRecord {
  readonly id: string;
  readonly position: number;
  readonly to: number;
}

interface BlockChange {
  readonly gained: BlockBuilder;
  readonly lost: BlockBuilder;
}

/**
 * Updates a kind's index with the records that a release writes. It computes a record's previous terms from its
 * stored row, so it writes only rows of terms that the record gains or loses. A block with more than `MAX_CHANGES`
 * changes is rebuilt from its stored records at the end; so is one that lacks terms.
 */
export class IndexChanges<K extends IndexedKind> {
  readonly #database: Database;
  readonly #kind: K;
  readonly #token: string;
  readonly #blocks: IndexBlock[];
  readonly #tokenizer = new Tokenizer();
  #pending = new Map<number, BlockChange>();
  /** Number of new and changed records, by block. */
  readonly #changed = new Map<number, number>();
  readonly #touched = new Set<number>();
  readonly #rebuilt = new Set<number>();

  private constructor(database: Database, kind: K, token: string, blocks: IndexBlock[]) {
    this.#database = database;
    this.#kind = kind;
    this.#token = token;
    this.#blocks = blocks;
  }

  /** @param token of the release that changes the index. */
  static async open<K extends IndexedKind>(database: Database, kind: K, token: string): Promise<IndexChanges<K>> {
    const { rows } = await sql<{ block: number; first_id: string; token: string }>`
      select block, first_id, token from catalog.index_blocks where kind = ${kind}
      order by first_id`.execute(database.kysely);
    const blocks = rows.map(({ block, first_id }) => ({ number: block, firstId: first_id }));
    const changes = new IndexChanges(database, kind, blockToken(kind, token), blocks);
    for (const row of rows) if (!hasAllTerms(kind, row.token)) changes.#rebuilt.add(row.block);
    return changes;
  }

  /** All blocks in id order; creates the first one if there is none. */
  async blocks(): Promise<readonly IndexBlock[]> {
    if (this.#blocks.length === 0) await this.addBlock('');
    return [...this.#blocks];
  }

  /** Adds a block for records from this id on, and returns its number. */
  async addBlock(firstId: string): Promise<number> {
    const number = this.#blocks.reduce((last, block) => Math.max(last, block.number), -1) + 1;
    this.#blocks.push({ number, firstId });
    const row = { kind: this.#kind, block: number, first_id: firstId, token: this.#token };
    await insertRows(this.#database, 'catalog.index_blocks', [row]);
    return number;
  }

  /** Counts a new record of this block; `replace` and `move` count the others. */
  expectNew(block: number): void {
    const changed = (this.#changed.get(block) ?? 0) + 1;
    this.#changed.set(block, changed);
    if (changed <= MAX_CHANGES) return;
    this.#rebuilt.add(block);
    this.#pending.delete(block);
  }

  /** Moves stored records, also to positions that others of these records leave. */
  async move(records: readonly MovedRecord[]): Promise<void> {
    for (const batch of inBatches(records, BATCH_TERMS)) {
      const to = new Map(batch.map((record) => [record.id, record.to]));
      for (const block of batch.map((record) => blockOf(record.to))) this.expectNew(block);
      const isRebuilt = ({ position, to: next }: MovedRecord): boolean =>
        this.#rebuilt.has(blockOf(position)) && this.#rebuilt.has(blockOf(next));
      const ids = batch.filter((record) => !isRebuilt(record)).map(({ id }) => id);
      const rows = await loadStoredRows(this.#database, this.#kind, ids);
      for (const row of rows) {
        const terms = this.#termsOf(row);
        this.#change(row.position, terms, EMPTY_TERMS);
        this.#change(to.get(row.id) ?? row.position, EMPTY_TERMS, terms);
      }
      await this.#updatePositions(batch.map(({ id, position }) => ({ id, position: -1 - position })));
      for (const { position } of batch) this.#touched.add(blockOf(position));
    }
    // Only now that all have left theirs: no two records can be at one position.
    for (const batch of inBatches(records, BATCH_TERMS))
      await this.#updatePositions(batch.map(({ id, to }) => ({ id, position: to })));
    // Only now: a later batch may remove terms from positions that this one filled.
    await this.writeIfLarge();
  }

  /** Replaces the record at a position; `before` is null for a new record, `after` for a removed one. */
  replace(position: number, before: StoredRow[K] | null, after: StoredRow[K] | null): void {
    const block = blockOf(position);
    // `expectNew` has already counted new records.
    if (before !== null) this.expectNew(block);
    this.#touched.add(block);
    if (this.#rebuilt.has(block)) return;
    this.#change(position, this.#termsOf(before), this.#termsOf(after));
  }

  /** Removes stored records from the index. Call it before deleting their rows. */
  async remove(positions: ReadonlyMap<string, number>): Promise<void> {
    // The terms of records in blocks that will be rebuilt are not needed.
    const ids = [...positions].flatMap(([id, position]) => (this.#rebuilt.has(blockOf(position)) ? [] : [id]));
    const stored = await loadStoredRows(this.#database, this.#kind, ids);
    const rows = new Map(stored.map((row) => [row.id, row]));
    for (const [id, position] of positions) this.replace(position, rows.get(id) ?? null, null);
    await this.writeIfLarge();
  }

  /** Marks a record as changed by a release without changing its other terms. */
  markChanged(before: StoredRow[IndexedKind], release: number): void {
    const { position, changed_release: changed } = before;
    this.changeTerms(position, changeTerms(changed), changeTerms(release));
    if ('detail_release' in before)
      this.changeTerms(position, detailChangeTerms(before.detail_release), detailChangeTerms(release));
  }

  changeTerms(position: number, before: readonly string[], after: readonly string[]): void {
    this.#touched.add(blockOf(position));
    this.#change(position, new Set(before), new Set(after));
  }

  async write(): Promise<void> {
    for (const [block, { gained, lost }] of this.#pending) {
      if (!this.#rebuilt.has(block)) await this.#writeBlock(block, gained.build(), lost.build());
    }
    this.#pending = new Map();
  }

  /** Writes pending changes if they take much memory. Call it after each batch of changes. */
  async writeIfLarge(): Promise<void> {
    let bytes = 0;
    for (const { gained, lost } of this.#pending.values()) bytes += gained.bytes + lost.bytes;
    if (bytes > MAX_BYTES) await this.write();
  }

  /** Writes the remaining changes. Call it after everything else is stored, then rebuild the blocks that it returns. */
  async finish(): Promise<BlockOfKind[]> {
    await this.write();
    for (const block of [...this.#touched, ...this.#rebuilt]) {
      await sql`update catalog.index_blocks set token = ${this.#token}
        where kind = ${this.#kind} and block = ${block}`.execute(this.#database.kysely);
    }
    return [...this.#rebuilt].map((block) => ({ kind: this.#kind, block }));
  }

  #termsOf(row: StoredRow[K] | null): ReadonlySet<string> {
    return row === null ? EMPTY_TERMS : termsOf(this.#kind, row, this.#tokenizer);
  }

  async #updatePositions(positions: readonly { id: string; position: number }[]): Promise<void> {
    const { engine, kysely } = this.#database;
    const fresh = jsonElements(engine, JSON.stringify(positions), 'fresh');
    await sql`update ${sql.table(`catalog.${this.#kind}`)} as moved
      set position = cast(fresh.value ->> 'position' as bigint)
      from ${fresh} where moved.id = fresh.value ->> 'id'`.execute(kysely);
  }

  #change(position: number, before: ReadonlySet<string>, after: ReadonlySet<string>): void {
    const block = blockOf(position);
    if (this.#rebuilt.has(block)) return;
    const { gained, lost } = this.#pending.get(block) ?? { gained: new BlockBuilder(), lost: new BlockBuilder() };
    this.#pending.set(block, { gained, lost });
    gained.add(position % BLOCK_SIZE, after.difference(before));
    lost.add(position % BLOCK_SIZE, before.difference(after));
  }

  async #writeBlock(block: number, gained: readonly IndexEntry[], lost: readonly IndexEntry[]): Promise<void> {
    const gains = new Map(gained.map(({ term, set }) => [term, set]));
    const losses = new Map(lost.map(({ term, set }) => [term, set]));
    const { engine, kysely } = this.#database;
    const index = sql.table(`catalog.${this.#kind}_index`);
    for (const terms of inBatches([...new Set([...gains.keys(), ...losses.keys()])], BATCH_TERMS)) {
      const { rows } = await sql<StoredSet>`
        delete from ${index} where block = ${block} and ${isOneOf(engine, sql.ref('term'), terms)}
        returning block, term, bits, checksum`.execute(kysely);
      const stored = new Map(rows.map((row) => [row.term, decodeStoredSet(this.#kind, row)]));
      const written = terms.flatMap((term) => {
        const kept = differenceOf(stored.get(term) ?? EMPTY_SET, losses.get(term) ?? EMPTY_SET);
        const set = unionOf([kept, gains.get(term) ?? EMPTY_SET]);
        return set.length === 0 ? [] : [storedSet(this.#kind, block, term, encodeSet(set))];
      });
      await insertRows(this.#database, indexTable(this.#kind), written);
    }
  }
}

const EMPTY_TERMS: ReadonlySet<string> = new Set();

function blockOf(position: number): number {
  return Math.floor(position / BLOCK_SIZE);
}
