import { LRUCache } from 'lru-cache';
import type { Snapshot } from '../access/snapshot.ts';
import { scheduler } from '../fair-scheduler.ts';
import { BlockQuery, type Block, type SetCache } from './block-query.ts';
import { isAll, Visibility, type Condition, type TermRange } from './conditions.ts';
import {
  BLOCK_SIZE,
  DamagedIndexError,
  sizeOf,
  EMPTY_SET,
  unionOf,
  type PositionSet,
  decodeStoredSet,
} from './position-set.ts';
import { readBlocks, readPosition, readSets } from './statements.ts';
import { hasAllTerms } from './terms.ts';
import type { IndexedKind } from '../kinds.ts';
import { compareBytewise } from '../bytewise.ts';

/** A list page evaluates one block first, then four times as many each time: most pages are filled from the first. */
const BLOCKS_GROWTH = 4;

/** Number of cached positions of pages' last records: clients send them back as cursors. */
const MAX_CACHED_POSITIONS = 10_000;

interface IndexState {
  readonly catalog: string;
  /** In id order of their records. */
  readonly blocks: readonly Block[];
  readonly lacksTerms: boolean;
}

/** The next records of a list. */
export interface FoundRecords {
  /** In id order. */
  readonly positions: readonly (number | string)[];
  readonly hasMore: boolean;
  /** Whether they are all served records between the first and the last, in the order of ids. */
  readonly isRange: boolean;
}

/** Finds and counts the records of a kind that a snapshot shows, with the bitmap index. */
export class RecordIndex {
  readonly visibility: Visibility;
  readonly #kind: IndexedKind;
  readonly #cache: SetCache;
  readonly #positions = new LRUCache<string, number>({ max: MAX_CACHED_POSITIONS });
  #state: IndexState | null = null;

  constructor(kind: IndexedKind, cache: SetCache) {
    this.#kind = kind;
    this.#cache = cache;
    this.visibility = new Visibility(kind);
  }

  /**
   * The first records after an id that the partner can see and that meet all conditions.
   *
   * @param after null for the start of the list.
   * @param until the last id to find; null for the end of the list.
   */
  async find(
    snapshot: Snapshot,
    conditions: readonly Condition[],
    { after, limit, until = null }: { after: string | null; limit: number; until?: string | null },
  ): Promise<FoundRecords> {
    const visible = this.visibility.in(snapshot.scope);
    const all = [visible, ...conditions];
    const isRange = conditions.length === 0 && isAll(visible);
    const state = await this.#getState(snapshot, conditions);
    const { blocks } = state;
    const positions: number[] = [];
    const start = await this.#startAfter(snapshot, state, after);
    const end = until === null ? null : await this.#startAfter(snapshot, state, until);
    const lastIndex = end?.index ?? blocks.length - 1;
    for (let index = start.index, count = 1; index <= lastIndex; index += count, count *= BLOCKS_GROWTH) {
      const some = blocks.slice(index, Math.min(index + count, lastIndex + 1));
      for await (const query of this.#queries(snapshot, some, all)) {
        const { block } = query;
        const from = block === blocks[start.index] ? start.from : 0;
        const to = end !== null && block === blocks[end.index] ? end.from : BLOCK_SIZE;
        for (const position of query.first(from, limit + 1 - positions.length)) {
          if (position >= to) break;
          positions.push(block.number * BLOCK_SIZE + position);
        }
        if (positions.length > limit) return { positions: positions.slice(0, limit), hasMore: true, isRange };
      }
    }
    return { positions, hasMore: false, isRange };
  }

  /** The number of records after an id that `find` would find; null for the whole list. */
  count(snapshot: Snapshot, conditions: readonly Condition[], after: string | null = null): Promise<number> {
    return this.#count(snapshot, [this.visibility.in(snapshot.scope), ...conditions], after);
  }

  /** The number of records that meet a condition, whoever can see them. Nothing else ignores the scope. */
  countOfAll(snapshot: Snapshot, condition: Condition): Promise<number> {
    return this.#count(snapshot, [condition], null);
  }

  async #count(snapshot: Snapshot, conditions: readonly Condition[], after: string | null): Promise<number> {
    const state = await this.#getState(snapshot, conditions);
    const { blocks } = state;
    const { index, from } = await this.#startAfter(snapshot, state, after);
    let total = 0;
    for await (const query of this.#queries(snapshot, blocks.slice(index), conditions)) {
      const isWhole = from === 0 || query.block !== blocks[index];
      total += isWhole ? sizeOf(query.match()) : query.first(from, BLOCK_SIZE).length;
    }
    return total;
  }

  /** Caches the position of a page's last record, since its client will request the records after it. */
  remember({ catalog }: Snapshot, id: string, position: number): void {
    const block = this.#state?.catalog === catalog ? blockOf(this.#state, id)?.block : undefined;
    if (block?.number === Math.floor(position / BLOCK_SIZE)) this.#positions.set(block.prefix + id, position);
  }

  /** @throws DamagedIndexError if the index lacks terms that a condition needs. */
  async #getState(snapshot: Snapshot, conditions: readonly Condition[]): Promise<IndexState> {
    const { catalog } = snapshot;
    const state = this.#state?.catalog === catalog ? this.#state : await this.#readState(snapshot);
    if (!state.lacksTerms || conditions.every(({ needsAllTerms }) => needsAllTerms !== true)) return state;
    // A later catalog can have them: without a statement, nothing has compared this one with the log.
    await snapshot.verify();
    throw new DamagedIndexError(
      `the index of ${this.#kind} lacks terms, since an older version changed it last. Run "pds reindex"`,
    );
  }

  async #readState(snapshot: Snapshot): Promise<IndexState> {
    const { catalog } = snapshot;
    const rows = await snapshot.run(readBlocks(this.#kind));
    // An unchanged block keeps its token, and one release gives all changed ones the same.
    const blocks = rows.map(({ block: number, first_id: firstId, token }) => ({
      ...{ number, firstId, prefix: `${this.#kind} ${number} ${token} ` },
    }));
    blocks.sort((one, other) => compareBytewise(one.firstId, other.firstId));
    const lacksTerms = rows.some(({ token }) => !hasAllTerms(this.#kind, token));
    return (this.#state = { catalog, blocks, lacksTerms });
  }

  /** The block, and the position in it, at which the ids after this one begin. */
  async #startAfter(snapshot: Snapshot, state: IndexState, after: string | null) {
    const found = after === null ? null : blockOf(state, after);
    if (after === null || found === null) return { index: 0, from: 0 };
    const { index, block } = found;
    let position = this.#positions.get(block.prefix + after);
    if (position === undefined) {
      const [last] = await snapshot.run(readPosition(this.#kind, after));
      position = last?.position ?? -1;
    }
    const isInBlock = Math.floor(position / BLOCK_SIZE) === block.number;
    return { index, from: isInBlock ? (position % BLOCK_SIZE) + 1 : 0 };
  }

  /** Yields a query for each block, ready to be evaluated. */
  async *#queries(snapshot: Snapshot, blocks: readonly Block[], conditions: readonly Condition[]) {
    for (const queries of this.#inBatches(blocks, conditions)) {
      if (queries.some(({ missing }) => missing.size > 0)) await loadSets(snapshot, this.#kind, queries);
      for (const query of queries) {
        await scheduler.turn(snapshot.partner.id);
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
 * @throws DamagedIndexError if a set is not the one that was written.
 */
async function loadSets(snapshot: Snapshot, kind: IndexedKind, queries: readonly BlockQuery[]): Promise<void> {
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
    await scheduler.turn(snapshot.partner.id);
    const someTerms = terms.splice(0, MAX_ROWS);
    const rowsLeft = MAX_ROWS - someTerms.length;
    const someRanges = ranges.splice(0, Math.floor(rowsLeft / MIN_RANGE_ROWS));
    const limit = Math.floor(rowsLeft / Math.max(1, someRanges.length));
    const wanted = someRanges.map(({ block, from, to }, index) => [block, from, to, index] as const);
    const rows = await snapshot.run(readSets(snapshot.engine, kind, { terms: someTerms, ranges: wanted, limit }));
    const inRanges = someRanges.map((): { term: string; set: PositionSet }[] => []);
    for (const row of rows) {
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
