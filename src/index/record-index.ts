import { setImmediate as nextTick } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { OpenDatabase } from '../database/database.ts';
import { firstRow } from '../database/statement.ts';
import { BlockQuery, type Block, type SetCache } from './block-query.ts';
import { Visibility, type Condition, type TermRange } from './conditions.ts';
import { BLOCK_SIZE, sizeOf, EMPTY_SET, unionOf, type PositionSet, decodeStoredSet } from './position-set.ts';
import { OtherStateError, readBlocks, readPosition, readSets } from './statements.ts';
import type { IndexedKind } from '../kinds.ts';
import { compareBytewise } from '../bytewise.ts';

/** A list page evaluates one block first, then four times as many each time: most pages are filled from the first. */
const BLOCKS_GROWTH = 4;

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
 * Finds and counts a kind's records with the bitmap index. Each method throws OtherStateError if the catalog changed
 * while it read the index: call {@link forget}, then the method again.
 */
export class RecordIndex {
  readonly visibility: Visibility;
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
    this.visibility = new Visibility(kind);
  }

  /** The state of the catalog that the index was last read in. */
  async catalog(): Promise<string> {
    return (await this.#getState()).catalog;
  }

  /**
   * The first records after an id that meet all conditions.
   *
   * @param after null for the start of the list.
   * @param until the last id to find; null for the end of the list.
   */
  async find(
    conditions: readonly Condition[],
    after: string | null,
    limit: number,
    until: string | null = null,
  ): Promise<FoundRecords> {
    const state = await this.#getState();
    const { catalog, blocks } = state;
    const positions: number[] = [];
    const start = await this.#startAfter(state, after);
    const end = until === null ? null : await this.#startAfter(state, until);
    const lastIndex = end?.index ?? blocks.length - 1;
    for (let index = start.index, count = 1; index <= lastIndex; index += count, count *= BLOCKS_GROWTH) {
      const some = blocks.slice(index, Math.min(index + count, lastIndex + 1));
      for await (const query of this.#queries(state, some, conditions)) {
        const { block } = query;
        const from = block === blocks[start.index] ? start.from : 0;
        const to = end !== null && block === blocks[end.index] ? end.from : BLOCK_SIZE;
        for (const position of query.first(from, limit + 1 - positions.length)) {
          if (position >= to) break;
          positions.push(block.number * BLOCK_SIZE + position);
        }
        if (positions.length > limit) return { catalog, positions: positions.slice(0, limit), hasMore: true };
      }
    }
    return { catalog, positions, hasMore: false };
  }

  /** The number of records after an id that meet all conditions; null for the whole list. */
  async count(
    conditions: readonly Condition[],
    after: string | null = null,
  ): Promise<{ catalog: string; total: number }> {
    const state = await this.#getState();
    const { catalog, blocks } = state;
    const { index, from } = await this.#startAfter(state, after);
    let total = 0;
    for await (const query of this.#queries(state, blocks.slice(index), conditions)) {
      const isWhole = from === 0 || query.block !== blocks[index];
      total += isWhole ? sizeOf(query.match()) : query.first(from, BLOCK_SIZE).length;
    }
    return { catalog, total };
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
    const pause = pauses();
    for (const queries of this.#inBatches(blocks, conditions)) {
      if (queries.some(({ missing }) => missing.size > 0))
        await loadSets(this.#database, this.#kind, state.catalog, queries, pause);
      for (const query of queries) {
        await pause();
        yield query;
      }
    }
  }

  /** Yields queries in batches whose missing rows fit into about one statement. */
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
}

/** Returns a function that yields to the event loop if `MAX_BUSY_MS` have passed since it last did. */
function pauses(): () => Promise<void> {
  let busySince = performance.now();
  return async () => {
    if (performance.now() - busySince <= MAX_BUSY_MS) return;
    await nextTick();
    busySince = performance.now();
  };
}

/** The block that an id belongs to; null if there is none. */
function blockOf({ blocks }: IndexState, id: string): { index: number; block: Block } | null {
  const index = blocks.findLastIndex(({ firstId }) => firstId <= id);
  const block = blocks[index];
  return block === undefined ? null : { index, block };
}

/** Maximum of rows per statement: some milliseconds on SQLite, which cannot be interrupted. */
export const MAX_ROWS = 500;

/** A statement reads at least this many rows of each range. Most ranges have fewer. */
const MIN_RANGE_ROWS = 25;

/** The unread rest of a range of terms in a block. */
interface RangeToRead extends TermRange {
  readonly block: number;
  readonly key: string;
}

/**
 * Reads the sets that queries miss. A range can have hundreds of thousands of rows, so this reads it in parts and keeps
 * only the union of its sets.
 *
 * @param catalog the state in which the queries' blocks were read.
 * @param pause awaited before each statement.
 * @throws OtherStateError if the catalog has changed.
 * @throws DamagedIndexError if a set is not the one that was written.
 */
export async function loadSets(
  database: OpenDatabase,
  kind: IndexedKind,
  catalog: string,
  queries: readonly BlockQuery[],
  pause: () => Promise<void>,
): Promise<void> {
  const sets = new Map<string, PositionSet>();
  const terms: [block: number, term: string][] = [];
  const ranges: RangeToRead[] = [];
  for (const { block, missing } of queries) {
    for (const [key, { terms: ofKey = [], range }] of missing) {
      for (const term of ofKey) terms.push([block.number, term]);
      if (range !== undefined) ranges.push({ block: block.number, key, ...range });
    }
  }
  while (terms.length + ranges.length > 0) {
    await pause();
    const someTerms = terms.splice(0, MAX_ROWS);
    const rowsLeft = MAX_ROWS - someTerms.length;
    const someRanges = ranges.splice(0, Math.floor(rowsLeft / MIN_RANGE_ROWS));
    const limit = Math.floor(rowsLeft / Math.max(1, someRanges.length));
    const rows = await database.run(`sets of ${kind}`, () => readSets(database.engine, kind), {
      terms: JSON.stringify(someTerms),
      ranges: JSON.stringify(someRanges.map(({ block, from, to }, index) => [block, from, to, index])),
      limit,
    });
    const inRanges = someRanges.map((): { term: string; set: PositionSet }[] => []);
    for (const row of rows) {
      if (row.catalog !== null) {
        if (row.catalog !== catalog) throw new OtherStateError();
        continue;
      }
      const { block, term, range } = row;
      const set = decodeStoredSet(kind, row);
      if (range === null) sets.set(`${block} ${term}`, set);
      else inRanges[range]?.push({ term, set });
    }
    for (const [index, range] of someRanges.entries()) {
      const { key, block, from, accepts = () => true } = range;
      const read = inRanges[index] ?? [];
      const accepted = read.filter(({ term }) => accepts(term)).map(({ set }) => set);
      sets.set(`${block} ${key}`, unionOf([sets.get(`${block} ${key}`) ?? EMPTY_SET, ...accepted]));
      if (read.length < limit) continue;
      // The last set is read again, which does not change the union.
      const last = read.reduce((max, { term }) => (compareBytewise(term, max) > 0 ? term : max), from);
      ranges.push({ ...range, from: last });
    }
  }
  for (const query of queries) query.take((key) => sets.get(`${query.block.number} ${key}`) ?? EMPTY_SET);
}
