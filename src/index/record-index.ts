import { setImmediate as nextTick } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { OpenDatabase } from '../database/database.ts';
import { BlockPlan, rangeKey, type Block } from './block-plan.ts';
import type { Condition, TermRange } from './evaluate.ts';
import { BLOCK_SIZE, decodeSet, positionsFrom, sizeOf, unionOf, type PositionSet } from './position-set.ts';
import type { SetCache } from './set-cache.ts';
import { readBlocks, readPosition, readSets, type BlockRow } from './statements.ts';
import type { IndexedKind } from './terms.ts';

/** A list page evaluates one block first, then four times as many each time: most pages are filled from the first. */
const BLOCKS_GROWTH = 4;

/** Approximate maximum of rows per statement: some milliseconds on SQLite. */
const MAX_ROWS = 1_000;

/** Yields to the event loop after this long. Most pages and counts take less. */
const MAX_BUSY_MS = 2;

/** Each failed attempt has met a new publication or a lagging replica. */
const MAX_ATTEMPTS = 10;

/** Number of cached positions of pages' last records: clients send them back as cursors. */
const MAX_CACHED_POSITIONS = 10_000;

interface IndexState {
  readonly catalog: string;
  /** In id order of their records. */
  readonly blocks: readonly Block[];
}

let keys = 0;

/** A short prefix for a block's cache keys: every list page looks up several sets in several blocks. */
function nextKey(): string {
  keys += 1;
  return `${keys} `;
}

/** The next records of a list. */
export interface FoundRecords {
  /** The catalog state that they were found in. */
  readonly catalog: string;
  /** In id order. */
  readonly positions: readonly (number | string)[];
  readonly hasMore: boolean;
}

/** Finds and counts a kind's records with the bitmap index. */
export class RecordIndex {
  readonly #database: OpenDatabase;
  readonly #kind: IndexedKind;
  readonly #cache: SetCache;
  readonly #positions = new LRUCache<string, number>({ max: MAX_CACHED_POSITIONS });
  #state: IndexState | null = null;
  /** Of the last state, whose keys go on while a block does not change. */
  #blocks: readonly (Block & { readonly name: string })[] = [];

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
    return this.#inOneState(async (state) => {
      const positions: number[] = [];
      const start = await this.#startAfter(state, after);
      const { blocks } = state;
      for (let index = start.index, count = 1; index < blocks.length; index += count, count *= BLOCKS_GROWTH) {
        const some = blocks.slice(index, index + count);
        for await (const { block, set } of this.#evaluate(state, some, conditions)) {
          const from = block === blocks[start.index] ? start.from : 0;
          const missing = limit + 1 - positions.length;
          for (const position of positionsFrom(set, from, missing))
            positions.push(block.number * BLOCK_SIZE + position);
          if (positions.length > limit) {
            return { catalog: state.catalog, positions: positions.slice(0, limit), hasMore: true };
          }
        }
      }
      return { catalog: state.catalog, positions, hasMore: false };
    });
  }

  /** The number of records that meet all conditions. */
  async count(conditions: readonly Condition[]): Promise<{ catalog: string; total: number }> {
    return this.#inOneState(async (state) => {
      let total = 0;
      for await (const { set } of this.#evaluate(state, state.blocks, conditions)) total += sizeOf(set);
      return { catalog: state.catalog, total };
    });
  }

  /** Drops the cached list of blocks, because the catalog has changed. */
  forget(): void {
    this.#state = null;
  }

  /** Caches the position of a page's last record, since its client will request the records after it. */
  remember(catalog: string, id: string, position: number): void {
    const block = this.#state?.catalog === catalog ? blockOf(this.#state, id)?.block : undefined;
    if (block?.number === Math.floor(position / BLOCK_SIZE)) this.#positions.set(block.key + id, position);
  }

  /**
   * Retries `work` until everything it read was in one catalog state.
   *
   * @throws Error after `MAX_ATTEMPTS`.
   */
  async #inOneState<T>(work: (state: IndexState) => Promise<T>): Promise<T> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      // If two servers disagree, one is behind.
      if (attempt > 1) this.#database.bypassReplicas();
      try {
        return await work((this.#state ??= await this.#readState()));
      } catch (error) {
        if (!(error instanceof OtherStateError)) throw error;
        this.forget();
      }
    }
    throw new Error(`the index was read in another state each time of ${MAX_ATTEMPTS}: publications follow too fast`);
  }

  async #readState(): Promise<IndexState> {
    const rows = await this.#database.run<BlockRow>('index blocks', () => readBlocks, { kind: this.#kind });
    const blocks = rows.flatMap(({ block: number, first_id: firstId, token }) => {
      if (number === null || firstId === null) return [];
      const name = `${this.#kind} ${number} ${token ?? ''}`;
      return [{ number, firstId, name, key: this.#blocks.find((block) => block.name === name)?.key ?? nextKey() }];
    });
    this.#blocks = blocks;
    return { catalog: rows[0]?.catalog ?? '', blocks };
  }

  /** The block, and the position in it, at which the ids after this one begin. */
  async #startAfter(state: IndexState, after: string | null): Promise<{ index: number; from: number }> {
    const found = after === null ? null : blockOf(state, after);
    if (after === null || found === null) return { index: 0, from: 0 };
    const { index, block } = found;
    let position = this.#positions.get(block.key + after);
    if (position === undefined) {
      const [row] = await this.#database.run(`position of ${this.#kind}`, () => readPosition(this.#kind), {
        id: after,
      });
      if (row?.catalog !== state.catalog) throw new OtherStateError();
      position = row.position ?? -1;
    }
    const isInBlock = Math.floor(position / BLOCK_SIZE) === block.number;
    return { index, from: isInBlock ? (position % BLOCK_SIZE) + 1 : 0 };
  }

  /** Yields the records that meet all conditions, block by block. */
  async *#evaluate(
    state: IndexState,
    blocks: readonly Block[],
    conditions: readonly Condition[],
  ): AsyncGenerator<{ block: Block; set: PositionSet }> {
    let busySince = performance.now();
    for (const plans of this.#plan(blocks, conditions)) {
      if (plans.some(({ missing }) => missing.size > 0)) await this.#load(state, plans);
      for (const plan of plans) {
        if (performance.now() - busySince > MAX_BUSY_MS) {
          await nextTick();
          busySince = performance.now();
        }
        yield { block: plan.block, set: plan.meetAll(conditions) };
      }
    }
  }

  /** Yields groups of plans whose missing rows fit into one statement. */
  *#plan(blocks: readonly Block[], conditions: readonly Condition[]): Generator<BlockPlan[]> {
    let plans: BlockPlan[] = [];
    let rows = 0;
    for (const block of blocks) {
      const plan = new BlockPlan(block, conditions, this.#cache);
      // Nothing to read: the page may be full before the next block is looked at.
      if (plan.rows === 0 && plans.length === 0) {
        yield [plan];
        continue;
      }
      if (rows > 0 && rows + plan.rows > MAX_ROWS) {
        yield plans;
        plans = [];
        rows = 0;
      }
      plans.push(plan);
      rows += plan.rows;
    }
    if (plans.length > 0) yield plans;
  }

  /**
   * Reads the missing sets.
   *
   * @throws OtherStateError if the catalog has changed.
   */
  async #load(state: IndexState, plans: readonly BlockPlan[]): Promise<void> {
    const asked = plans.flatMap(({ block, missing }) => [...missing.values()].map((wanted) => ({ block, ...wanted })));
    const ranges = asked.flatMap(({ block, range }) => (range === undefined ? [] : [{ block, ...range }]));
    const rangesIn = Map.groupBy(ranges, ({ block }) => block.number);
    const terms = asked.flatMap(({ block, terms: ofBlock = [] }) => ofBlock.map((term) => [block.number, term]));
    const { engine } = this.#database;
    const rows = await this.#database.run(`sets of ${this.#kind}`, () => readSets(engine, this.#kind), {
      terms: JSON.stringify(terms),
      ranges: JSON.stringify(ranges.map(({ block, from, to }) => [block.number, from, to])),
    });
    const read = new Map<string, PositionSet[]>();
    for (const { catalog, block, term, range: from, bits } of rows) {
      if (block === null || term === null) {
        if (catalog !== state.catalog) throw new OtherStateError();
        continue;
      }
      if (bits === null) continue;
      for (const key of from === null ? [term] : rangesOf(rangesIn.get(block) ?? [], from, term)) {
        const sets = read.get(`${block} ${key}`);
        if (sets === undefined) read.set(`${block} ${key}`, [decodeSet(bits)]);
        else sets.push(decodeSet(bits));
      }
    }
    for (const plan of plans) plan.take((key) => unionOf(read.get(`${plan.block.number} ${key}`) ?? []));
  }
}

/** Two statements read different catalog states. */
class OtherStateError extends Error {}

/** The keys of the ranges that begin with `from` and accept the term. */
function rangesOf(ranges: readonly TermRange[], from: string, term: string): string[] {
  return ranges.filter((range) => range.from === from && range.accepts?.(term) !== false).map(rangeKey);
}

/** The block that an id belongs to; null if there is none. */
function blockOf({ blocks }: IndexState, id: string): { index: number; block: Block } | null {
  const index = blocks.findLastIndex(({ firstId }) => firstId <= id);
  const block = blocks[index];
  return block === undefined ? null : { index, block };
}
