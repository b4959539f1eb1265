import { setImmediate as nextTick } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { OpenDatabase } from '../database/database.ts';
import { firstRow } from '../database/statement.ts';
import { BlockQuery, type Block } from './block-query.ts';
import type { Condition, TermRange } from './conditions.ts';
import { OtherStateError } from './one-state.ts';
import { BLOCK_SIZE, decodeSet, sizeOf, unionOf, type PositionSet } from './position-set.ts';
import type { SetCache } from './set-cache.ts';
import { readBlocks, readPosition, readSets } from './statements.ts';
import type { IndexedKind } from '../kinds.ts';

/** A list page evaluates one block first, then four times as many each time: most pages are filled from the first. */
const BLOCKS_GROWTH = 4;

/** Approximate maximum of rows per statement: some milliseconds on SQLite. */
const MAX_ROWS = 1_000;

/** Yields to the event loop after this long. Most pages and counts take less. */
const MAX_BUSY_MS = 2;

/** Number of cached positions of pages' last records: clients send them back as cursors. */
const MAX_CACHED_POSITIONS = 10_000;

interface IndexState {
  readonly catalog: string;
  /** In id order of their records. */
  readonly blocks: readonly Block[];
}

/** The next records of a list. */
export interface FoundRecords {
  /** The catalog state that they were found in. */
  readonly catalog: string;
  /** In id order. */
  readonly positions: readonly (number | string)[];
  readonly hasMore: boolean;
}

/**
 * Finds and counts a kind's records with the bitmap index. Call it within `inOneState`: each method throws
 * OtherStateError if it read the index while the catalog changed.
 */
export class RecordIndex {
  readonly #database: OpenDatabase;
  readonly #kind: IndexedKind;
  readonly #cache: SetCache;
  readonly #positions = new LRUCache<string, number>({ max: MAX_CACHED_POSITIONS });
  #state: IndexState | null = null;
  /** The cache prefixes of the last state's blocks, by number and token: an unchanged block keeps its prefix. */
  #prefixes: ReadonlyMap<string, string> = new Map();

  constructor(database: OpenDatabase, kind: IndexedKind, cache: SetCache) {
    this.#database = database;
    this.#kind = kind;
    this.#cache = cache;
  }

  /**
   * The first records after an id that meet all conditions.
   *
   * @param after null for the start of the list.
   */
  async find(conditions: readonly Condition[], after: string | null, limit: number): Promise<FoundRecords> {
    const state = await this.#getState();
    const { catalog, blocks } = state;
    const positions: number[] = [];
    const start = await this.#startAfter(state, after);
    for (let index = start.index, count = 1; index < blocks.length; index += count, count *= BLOCKS_GROWTH) {
      for await (const query of this.#queries(state, blocks.slice(index, index + count), conditions)) {
        const { block } = query;
        const from = block === blocks[start.index] ? start.from : 0;
        for (const position of query.first(from, limit + 1 - positions.length)) {
          positions.push(block.number * BLOCK_SIZE + position);
        }
        if (positions.length > limit) return { catalog, positions: positions.slice(0, limit), hasMore: true };
      }
    }
    return { catalog, positions, hasMore: false };
  }

  /** The number of records that meet all conditions. */
  async count(conditions: readonly Condition[]): Promise<{ catalog: string; total: number }> {
    const state = await this.#getState();
    let total = 0;
    for await (const query of this.#queries(state, state.blocks, conditions)) total += sizeOf(query.match());
    return { catalog: state.catalog, total };
  }

  /** Drops the cached list of blocks, because the catalog has changed. */
  forget(): void {
    this.#state = null;
  }

  /** Caches the position of a page's last record, since its client will request the records after it. */
  remember(catalog: string, id: string, position: number): void {
    const block = this.#state?.catalog === catalog ? blockOf(this.#state, id)?.block : undefined;
    if (block?.number === Math.floor(position / BLOCK_SIZE)) this.#positions.set(block.prefix + id, position);
  }

  async #getState(): Promise<IndexState> {
    if (this.#state !== null) return this.#state;
    const rows = await this.#database.run('index blocks', () => readBlocks, { kind: this.#kind });
    const prefixes = new Map<string, string>();
    const blocks = rows.flatMap(({ block: number, first_id: firstId, token }) => {
      if (number === null || firstId === null) return [];
      const version = `${number} ${token ?? ''}`;
      const prefix = this.#prefixes.get(version) ?? this.#cache.nextPrefix();
      prefixes.set(version, prefix);
      return [{ number, firstId, prefix }];
    });
    this.#prefixes = prefixes;
    return (this.#state = { catalog: firstRow(rows).catalog, blocks });
  }

  /** The block, and the position in it, at which the ids after this one begin. */
  async #startAfter(state: IndexState, after: string | null): Promise<{ index: number; from: number }> {
    const found = after === null ? null : blockOf(state, after);
    if (after === null || found === null) return { index: 0, from: 0 };
    const { index, block } = found;
    let position = this.#positions.get(block.prefix + after);
    if (position === undefined) {
      const name = `position of ${this.#kind}`;
      const row = firstRow(await this.#database.run(name, () => readPosition(this.#kind), { id: after }));
      if (row.catalog !== state.catalog) throw new OtherStateError();
      position = row.position ?? -1;
    }
    const isInBlock = Math.floor(position / BLOCK_SIZE) === block.number;
    return { index, from: isInBlock ? (position % BLOCK_SIZE) + 1 : 0 };
  }

  /** Yields a query for each block, ready to be evaluated. */
  async *#queries(
    state: IndexState,
    blocks: readonly Block[],
    conditions: readonly Condition[],
  ): AsyncGenerator<BlockQuery> {
    let busySince = performance.now();
    for (const queries of this.#inBatches(blocks, conditions)) {
      if (queries.some(({ missing }) => missing.size > 0)) await this.#load(state, queries);
      for (const query of queries) {
        if (performance.now() - busySince > MAX_BUSY_MS) {
          await nextTick();
          busySince = performance.now();
        }
        yield query;
      }
    }
  }

  /** Yields queries in batches whose missing rows fit into one statement. */
  *#inBatches(blocks: readonly Block[], conditions: readonly Condition[]): Generator<BlockQuery[]> {
    let queries: BlockQuery[] = [];
    let rows = 0;
    for (const block of blocks) {
      const query = new BlockQuery(block, conditions, this.#cache);
      // Nothing to read: the page may be full before the next block is looked at.
      if (query.rows === 0 && queries.length === 0) {
        yield [query];
        continue;
      }
      if (rows > 0 && rows + query.rows > MAX_ROWS) {
        yield queries;
        queries = [];
        rows = 0;
      }
      queries.push(query);
      rows += query.rows;
    }
    if (queries.length > 0) yield queries;
  }

  /**
   * Reads the missing sets.
   *
   * @throws OtherStateError if the catalog has changed.
   */
  async #load(state: IndexState, queries: readonly BlockQuery[]): Promise<void> {
    const terms: [block: number, term: string][] = [];
    const ranges: ({ readonly block: number; readonly key: string } & TermRange)[] = [];
    for (const { block, missing } of queries) {
      for (const [key, { terms: ofKey = [], range }] of missing) {
        for (const term of ofKey) terms.push([block.number, term]);
        if (range !== undefined) ranges.push({ block: block.number, key, ...range });
      }
    }
    const { engine } = this.#database;
    const rows = await this.#database.run(`sets of ${this.#kind}`, () => readSets(engine, this.#kind), {
      terms: JSON.stringify(terms),
      ranges: JSON.stringify(ranges.map(({ block, from, to }) => [block, from, to])),
    });
    const rangesOf = Map.groupBy(ranges, ({ block, from }) => `${block} ${from}`);
    const read = new Map<string, PositionSet[]>();
    for (const { catalog, block, term, range, bits } of rows) {
      if (block === null || term === null) {
        if (catalog !== state.catalog) throw new OtherStateError();
        continue;
      }
      if (bits === null) continue;
      const set = decodeSet(bits);
      const inRanges = range === null ? [] : (rangesOf.get(`${block} ${range}`) ?? []);
      const keys =
        range === null ? [term] : inRanges.flatMap(({ key, accepts }) => (accepts?.(term) === false ? [] : [key]));
      for (const key of keys) {
        const sets = read.get(`${block} ${key}`);
        if (sets === undefined) read.set(`${block} ${key}`, [set]);
        else sets.push(set);
      }
    }
    for (const query of queries) query.take((key) => unionOf(read.get(`${query.block.number} ${key}`) ?? []));
  }
}

/** The block that an id belongs to; null if there is none. */
function blockOf({ blocks }: IndexState, id: string): { index: number; block: Block } | null {
  const index = blocks.findLastIndex(({ firstId }) => firstId <= id);
  const block = blocks[index];
  return block === undefined ? null : { index, block };
}
