import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { isOneOf } from '../../database/statement.ts';
import { BLOCK_SIZE } from '../../index/position-set.ts';
import { lineKey, readLines } from '../read/lines.ts';
import type { MovedRecord } from '../../index/write/index-changes.ts';
import { placeInBlocks } from './place-records.ts';
import type { ImportContext } from '../import-context.ts';
import { MAX_LINE_BYTES } from '../read/record-schemas.ts';
import type { Source } from '../read/source.ts';
import type { IndexedKind } from '../../kinds.ts';

/** Above this number of keys in a block, reading the whole block is as fast. */
const MAX_KEYS_TO_LOOK_UP = 4_096;

/** A key of the plan. */
export interface PlannedKey {
  readonly key: string;
  /** The new record's position; null if the record is already stored. */
  readonly position: number | null;
  /** Index of the key in the plan's sorted keys. */
  readonly keyIndex: number;
}

/** The line number of each key of a source. */
export type KeyLines = Pick<ReadonlyMap<string, number>, 'get'>;

/** A source's keys, with the positions of new records, and the lines that have been read. */
class PositionPlan implements KeyLines {
  /** Sorted and distinct. */
  readonly keys: readonly string[];
  /** By key index; NaN for stored records. */
  readonly #positions: Float64Array;
  /** 0 until set. There can be millions: four bytes each. */
  readonly #lines: Uint32Array;
  #next = 0;

  constructor(keys: readonly string[]) {
    this.keys = keys;
    this.#positions = new Float64Array(keys.length).fill(Number.NaN);
    this.#lines = new Uint32Array(keys.length);
  }

  assign(keyIndex: number, position: number): void {
    this.#positions[keyIndex] = position;
  }

  /** Finds a key; null if the source does not contain it. */
  find(key: string): PlannedKey | null {
    // Fast path: most files are sorted.
    const keyIndex = this.keys[this.#next] === key ? this.#next : lowerBound(this.keys, key);
    const known = this.keys[keyIndex];
    if (known !== key) return null;
    this.#next = keyIndex + 1;
    const position = this.#positions[keyIndex] ?? Number.NaN;
    return { key: known, position: Number.isNaN(position) ? null : position, keyIndex };
  }

  get(key: string): number | undefined {
    const planned = this.find(key);
    return planned === null ? undefined : this.lineAt(planned);
  }

  /** The line of a key; undefined until set. */
  lineAt({ keyIndex }: PlannedKey): number | undefined {
    const line = this.#lines[keyIndex];
    return line === 0 ? undefined : line;
  }

  setLine({ keyIndex }: PlannedKey, line: number): void {
    this.#lines[keyIndex] = line;
  }
}

/**
 * Reads a source's keys and assigns each new one a position between its neighbors. If there is no room, a few records
 * around it move; if its block is full, the block is split. No other block changes.
 */
export async function planPositions(
  context: ImportContext,
  source: Source & { kind: IndexedKind },
): Promise<PositionPlan> {
  const plan = new PositionPlan(await readKeys(source));
  const blocks = await context.index[source.kind].blocks();
  let keyIndex = 0;
  for (const [index, block] of blocks.entries()) {
    const nextId = blocks[index + 1]?.firstId ?? null;
    const end = nextId === null ? plan.keys.length : lowerBound(plan.keys, nextId);
    if (end > keyIndex && (await mayHaveNew(context.database, source.kind, plan.keys.slice(keyIndex, end))))
      await planBlock(context, source.kind, plan, { start: keyIndex, end, block, nextId });
    await context.pause();
    keyIndex = end;
  }
  await context.index[source.kind].write();
  return plan;
}

interface BlockOfKeys {
  readonly start: number;
  readonly end: number;
  readonly block: { readonly number: number; readonly firstId: string };
  /** Null for the last block. */
  readonly nextId: string | null;
}

async function planBlock(
  context: ImportContext,
  kind: IndexedKind,
  plan: PositionPlan,
  { start, end, block, nextId }: BlockOfKeys,
): Promise<void> {
  const { rows: stored } = await sql<{ id: string; position: number }>`select id, position
    from ${sql.table(`catalog.${kind}`)} where id >= ${block.firstId} ${nextId === null ? sql`` : sql`and id < ${nextId}`}
    order by id`.execute(context.database.kysely);
  /** All of the block's records in id order: a stored record, or the key index of a new one. */
  const records: ((typeof stored)[number] | number)[] = [];
  let keyIndex = start;
  for (const record of stored) {
    for (; keyIndex < end && getAt(plan.keys, keyIndex) < record.id; keyIndex += 1) records.push(keyIndex);
    if (keyIndex < end && getAt(plan.keys, keyIndex) === record.id) keyIndex += 1;
    records.push(record);
  }
  for (; keyIndex < end; keyIndex += 1) records.push(keyIndex);
  if (records.length === stored.length) return;
  const idOf = (record: (typeof records)[number]): string =>
    typeof record === 'number' ? getAt(plan.keys, record) : record.id;
  const positions = records.map((record) => (typeof record === 'number' ? null : record.position % BLOCK_SIZE));
  const placed = placeInBlocks(positions, context.blockSize, nextId === null);
  const index = context.index[kind];
  const blockNumbers = [block.number];
  const moved: MovedRecord[] = [];
  for (const [ordinal, record] of records.entries()) {
    const position = getAt(placed, ordinal);
    const blockNumber = (blockNumbers[Math.floor(position / context.blockSize)] ??= await index.addBlock(idOf(record)));
    const to = blockNumber * BLOCK_SIZE + (position % context.blockSize);
    if (typeof record === 'number') {
      plan.assign(record, to);
      index.expectNew(blockNumber);
    } else if (record.position !== to) moved.push({ ...record, to });
  }
  await index.move(moved);
}

/** False if all keys are stored, so that the block need not be read. True without a check if there are too many. */
async function mayHaveNew({ engine, kysely }: Database, kind: IndexedKind, keys: readonly string[]): Promise<boolean> {
  if (keys.length > MAX_KEYS_TO_LOOK_UP) return true;
  const { rows } = await sql`select id from ${sql.table(`catalog.${kind}`)}
    where ${isOneOf(engine, sql.ref('id'), keys)}`.execute(kysely);
  return rows.length < keys.length;
}

async function readKeys(source: Source & { kind: IndexedKind }): Promise<string[]> {
  const keys: string[] = [];
  for await (const lines of readLines(source.open())) {
    for (const { bytes } of lines) {
      // Skip parsing: this line will be refused.
      if (bytes.length > MAX_LINE_BYTES[source.kind]) continue;
      const key = lineKey(bytes);
      if (key !== null) keys.push(key);
    }
  }
  // Ids are ASCII, so the default order is bytewise.
  keys.sort();
  return keys.filter((key, index) => key !== keys[index - 1]);
}

function getAt<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new Error(`there is no index ${index}`);
  return item;
}

function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (getAt(keys, middle) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
