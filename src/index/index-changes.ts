import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { isOneOf, jsonElements } from '../database/engine-sql.ts';
import { inBatches, insertRows } from '../publishing/rows.ts';
import { BlockBuilder, type IndexEntry } from './block-builder.ts';
import type { BlockOfKind } from './build-blocks.ts';
import { indexTable, loadIndexedRows, type PositionedRow } from './indexed-rows.ts';
import { BLOCK_SIZE, decodeSet, differenceOf, EMPTY_SET, encodeSet, unionOf } from './position-set.ts';
import { changeTerms, termsOf, type IndexedKind, type IndexedRow } from './terms.ts';
import { Tokenizer } from './tokenizer.ts';

/** From so many new or changed records on, to build a block again costs less than to change its rows. */
const MAX_CHANGES = 4_096;

/** Changes are written when they take this much memory, and at the end. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Rows of the index that are read and written together. */
const BATCH_TERMS = 2_000;

export interface IndexBlock {
  readonly number: number;
  readonly firstId: string;
}

/** A stored record that gets another position. */
export interface MovedRecord {
  readonly id: string;
  readonly position: number;
  readonly to: number;
}

/** The terms that records of a block gain and lose. */
interface BlockChange {
  readonly gained: BlockBuilder;
  readonly lost: BlockBuilder;
}

/**
 * Brings the index of a kind up to date with the records that a publication writes. What a record was found by before
 * is computed from its stored row, so that only rows of terms that it gains or loses are written. A block of which very
 * much changes is built again at the end, from its stored records.
 */
export class IndexChanges<K extends IndexedKind> {
  readonly #database: Database;
  readonly #kind: K;
  readonly #token: string;
  readonly #blocks: IndexBlock[];
  #nextNumber: number;
  readonly #tokenizer = new Tokenizer();
  #pending = new Map<number, BlockChange>();
  #pendingBytes = 0;
  /** New and changed records, by block. */
  readonly #changed = new Map<number, number>();
  /** Blocks with rows that changed. */
  readonly #touched = new Set<number>();
  readonly #rebuilt = new Set<number>();

  private constructor(database: Database, kind: K, token: string, blocks: IndexBlock[], nextNumber: number) {
    this.#database = database;
    this.#kind = kind;
    this.#token = token;
    this.#blocks = blocks;
    this.#nextNumber = nextNumber;
  }

  /** @param token of the publication that changes the index. */
  static async open<K extends IndexedKind>(database: Database, kind: K, token: string): Promise<IndexChanges<K>> {
    const { rows } = await sql<{ block: number; first_id: string }>`
      select block, first_id from catalog.index_blocks where kind = ${kind} order by first_id`.execute(database.kysely);
    const { rows: last } = await sql<{ number: number | null }>`
      select max(number) as number from ${sql.table(`catalog.${kind}`)}`.execute(database.kysely);
    const blocks = rows.map(({ block, first_id }) => ({ number: block, firstId: first_id }));
    return new IndexChanges(database, kind, token, blocks, (last[0]?.number ?? 0) + 1);
  }

  /** In the order of their ids; at least one. */
  async blocks(): Promise<readonly IndexBlock[]> {
    if (this.#blocks.length === 0) await this.addBlock('');
    return [...this.#blocks];
  }

  /** The number of a new record's row. */
  nextNumber(): number {
    this.#nextNumber += 1;
    return this.#nextNumber - 1;
  }

  /** Adds a block for the records from this id on. */
  async addBlock(firstId: string): Promise<number> {
    const number = this.#blocks.reduce((last, block) => Math.max(last, block.number), -1) + 1;
    this.#blocks.push({ number, firstId });
    await this.#database.kysely
      .insertInto('catalog.index_blocks')
      .values({ kind: this.#kind, block: number, first_id: firstId, token: this.#token })
      .execute();
    return number;
  }

  /** A record will be added to this block. */
  expectNew(block: number): void {
    const changed = (this.#changed.get(block) ?? 0) + 1;
    this.#changed.set(block, changed);
    if (changed <= MAX_CHANGES) return;
    this.#rebuilt.add(block);
    this.#pending.delete(block);
  }

  /** Gives stored records other positions, among them those that others of these leave. */
  async move(records: readonly MovedRecord[]): Promise<void> {
    for (const batch of inBatches(records, BATCH_TERMS)) {
      const to = new Map(batch.map((record) => [record.id, record.to]));
      for (const block of batch.map((record) => blockOf(record.to))) this.expectNew(block);
      const isRebuilt = ({ position, to: next }: MovedRecord): boolean =>
        this.#rebuilt.has(blockOf(position)) && this.#rebuilt.has(blockOf(next));
      const rows = await this.load(batch.filter((record) => !isRebuilt(record)).map(({ id }) => id));
      for (const row of rows) {
        const terms = this.#termsOf(row);
        this.#change(row.position, terms, EMPTY_TERMS);
        this.#change(to.get(row.id) ?? row.position, EMPTY_TERMS, terms);
      }
      const positions = JSON.stringify(batch.map((record) => ({ id: record.id, position: record.to })));
      await updatePositions(this.#database, this.#kind, positions);
      for (const { position } of batch) this.#touched.add(blockOf(position));
    }
    // Not before: a later batch may take terms from positions that this one gave terms to.
    await this.writeIfLarge();
  }

  /** Stored records as they are before they change; those whose block is built again are left out. */
  async load(ids: readonly string[]): Promise<PositionedRow<K>[]> {
    return ids.length === 0 ? [] : loadIndexedRows(this.#database, this.#kind, ids);
  }

  /** Stored records with these ids whose terms have to be known when they change or are removed. */
  async loadBefore(records: readonly { id: string; position: number }[]): Promise<Map<string, PositionedRow<K>>> {
    const ids = records.flatMap(({ id, position }) => (this.#rebuilt.has(blockOf(position)) ? [] : [id]));
    return new Map((await this.load(ids)).map((row) => [row.id, row]));
  }

  /** A record is stored at a position, instead of another version of it, or of none. */
  replace(position: number, before: IndexedRow[K] | null, after: IndexedRow[K] | null): void {
    const block = blockOf(position);
    // New records are expected before.
    if (before !== null) this.expectNew(block);
    this.#touched.add(block);
    if (this.#rebuilt.has(block)) return;
    this.#change(
      position,
      before === null ? EMPTY_TERMS : this.#termsOf(before),
      after === null ? EMPTY_TERMS : this.#termsOf(after),
    );
  }

  /** Stored records are removed; to be called before they are. */
  async remove(records: readonly { id: string; position: number }[]): Promise<void> {
    const rows = await this.loadBefore(records);
    for (const { id, position } of records) this.replace(position, rows.get(id) ?? null, null);
    await this.writeIfLarge();
  }

  /** Of these records nothing changes that they are found by, except for the publication that last changed them. */
  markChanged(records: readonly { position: number; changed_publication: number }[], publication: number): void {
    const after = changeTerms(publication);
    for (const { position, changed_publication: before } of records) {
      this.changeTerms(position, changeTerms(before), after);
    }
  }

  /** A record loses some terms and gains others. */
  changeTerms(position: number, before: readonly string[], after: readonly string[]): void {
    this.#touched.add(blockOf(position));
    if (!this.#rebuilt.has(blockOf(position))) this.#change(position, new Set(before), new Set(after));
  }

  /** Writes what was gathered. */
  async write(): Promise<void> {
    for (const [block, { gained, lost }] of this.#pending) {
      if (!this.#rebuilt.has(block)) await this.#writeBlock(block, gained.build(), lost.build());
    }
    this.#pending = new Map();
    this.#pendingBytes = 0;
  }

  /** Writes what was gathered if it takes much memory. To be called after each batch of changes. */
  async writeIfLarge(): Promise<void> {
    if (this.#pendingBytes > MAX_BYTES) await this.write();
  }

  /** Writes all that is left, once everything else is stored; gives the blocks that are to be built again after it. */
  async finish(): Promise<BlockOfKind[]> {
    await this.write();
    for (const block of [...this.#touched, ...this.#rebuilt]) {
      await this.#database.kysely
        .updateTable('catalog.index_blocks')
        .set({ token: this.#token })
        .where('kind', '=', this.#kind)
        .where('block', '=', block)
        .execute();
    }
    return [...this.#rebuilt].map((block) => ({ kind: this.#kind, block }));
  }

  #termsOf(row: IndexedRow[K]): ReadonlySet<string> {
    return termsOf(this.#kind, row, this.#tokenizer);
  }

  #change(position: number, before: ReadonlySet<string>, after: ReadonlySet<string>): void {
    const block = blockOf(position);
    if (this.#rebuilt.has(block)) return;
    let pending = this.#pending.get(block);
    if (pending === undefined)
      this.#pending.set(block, (pending = { gained: new BlockBuilder(), lost: new BlockBuilder() }));
    const { gained, lost } = pending;
    const bytes = gained.bytes + lost.bytes;
    gained.add(position % BLOCK_SIZE, after.difference(before));
    lost.add(position % BLOCK_SIZE, before.difference(after));
    this.#pendingBytes += gained.bytes + lost.bytes - bytes;
  }

  async #writeBlock(block: number, gained: readonly IndexEntry[], lost: readonly IndexEntry[]): Promise<void> {
    const gains = new Map(gained.map(({ term, set }) => [term, set]));
    const losses = new Map(lost.map(({ term, set }) => [term, set]));
    const { engine, kysely } = this.#database;
    const index = sql.table(`catalog.${this.#kind}_index`);
    for (const terms of inBatches([...new Set([...gains.keys(), ...losses.keys()])], BATCH_TERMS)) {
      const { rows } = await sql<{ term: string; bits: Uint8Array }>`
        delete from ${index} where block = ${block} and ${isOneOf(engine, sql.ref('term'), terms)}
        returning term, bits`.execute(kysely);
      const stored = new Map(rows.map(({ term, bits }) => [term, decodeSet(bits)]));
      const written = terms.flatMap((term) => {
        const kept = differenceOf(stored.get(term) ?? EMPTY_SET, losses.get(term) ?? EMPTY_SET);
        const set = unionOf([kept, gains.get(term) ?? EMPTY_SET]);
        return set.length === 0 ? [] : [{ block, term, bits: encodeSet(set) }];
      });
      await insertRows(this.#database, indexTable(this.#kind), written);
    }
  }
}

const EMPTY_TERMS: ReadonlySet<string> = new Set();

function blockOf(position: number): number {
  return Math.floor(position / BLOCK_SIZE);
}

async function updatePositions({ engine, kysely }: Database, kind: IndexedKind, positions: string): Promise<void> {
  await sql`update ${sql.table(`catalog.${kind}`)} as moved set position = cast(fresh.value ->> 'position' as bigint)
    from ${jsonElements(engine, positions, 'fresh')} where moved.id = fresh.value ->> 'id'`.execute(kysely);
}
