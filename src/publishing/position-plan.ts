import type { Database } from '../database/database.ts';
import { isOneOf } from '../database/engine-sql.ts';
import { BLOCK_SIZE } from '../index/position-set.ts';
import { lineKey } from './line-key.ts';
import { readLines } from './lines.ts';
import { numbersInGap } from './former-search.ts';
import type { MovedRecord } from '../index/index-changes.ts';
import { placeInBlocks } from './place-records.ts';
import type { NumberedKind } from './records.ts';
import type { ImportContext } from './import-context.ts';
import { MAX_LINE_BYTES } from './size-limits.ts';
import type { Source } from './source.ts';

/** Above this number of keys in a block, reading the whole block is as fast. */
const MAX_KEYS_TO_LOOK_UP = 4_096;

/** A key of the plan. */
export interface PlannedKey {
  readonly key: string;
  /** The new row's number and position; null if the record is already stored. */
  readonly row: { readonly number: number; readonly position: number } | null;
  /** Index of the key in the plan's sorted keys. */
  readonly place: number;
}

/** A source's keys, with the row numbers and positions of new records. */
export class PositionPlan {
  /** Sorted and distinct. */
  readonly keys: readonly string[];
  /** By key index; NaN for stored records. */
  readonly #positions: Float64Array;
  readonly #numbers: Float64Array;
  #next = 0;

  constructor(keys: readonly string[]) {
    this.keys = keys;
    this.#positions = new Float64Array(keys.length).fill(Number.NaN);
    this.#numbers = new Float64Array(keys.length).fill(Number.NaN);
  }

  /** Assigns a new record its row number and position. */
  assign(place: number, number: number, position: number): void {
    this.#numbers[place] = number;
    this.#positions[place] = position;
  }

  /** Finds a key; null if the source does not contain it. */
  find(key: string): PlannedKey | null {
    // Fast path: most files are sorted.
    const place = this.keys[this.#next] === key ? this.#next : lowerBound(this.keys, key);
    const known = this.keys[place];
    if (known !== key) return null;
    this.#next = place + 1;
    const [number = Number.NaN, position = Number.NaN] = [this.#numbers[place], this.#positions[place]];
    return { key: known, row: Number.isNaN(position) ? null : { number, position }, place };
  }
}

interface StoredRecord {
  readonly id: string;
  readonly number: number;
  readonly position: number;
}

/**
 * Reads a source's keys and assigns each new one a position between its neighbors. If there is no room, a few records
 * around it move; if its block is full, the block is split. No other block changes.
 */
export async function planPositions(
  context: ImportContext,
  source: Source & { kind: NumberedKind },
): Promise<PositionPlan> {
  const plan = new PositionPlan(await readKeys(source));
  const blocks = await context.index[source.kind].blocks();
  let place = 0;
  for (const [index, block] of blocks.entries()) {
    const nextId = blocks[index + 1]?.firstId ?? null;
    const end = nextId === null ? plan.keys.length : lowerBound(plan.keys, nextId);
    if (end > place && (await mayHaveNew(context.database, source.kind, plan.keys.slice(place, end))))
      await planBlock(context, source.kind, plan, { place, end, block, nextId });
    await context.pause();
    place = end;
  }
  await context.index[source.kind].write();
  return plan;
}

interface BlockOfKeys {
  readonly place: number;
  readonly end: number;
  readonly block: { readonly number: number; readonly firstId: string };
  /** Null for the last block. */
  readonly nextId: string | null;
}

async function planBlock(
  context: ImportContext,
  kind: NumberedKind,
  plan: PositionPlan,
  { place: start, end, block, nextId }: BlockOfKeys,
): Promise<void> {
  const stored = await loadStored(context.database, kind, block.firstId, nextId);
  /** All of the block's records in id order: positions within it, null for new ones. */
  const positions: (number | null)[] = [];
  /** The plan indexes of the new records' keys. */
  const places: number[] = [];
  for (let place = start, index = 0; place < end || index < stored.length;) {
    const [key, record] = [place < end ? plan.keys[place] : undefined, stored[index]];
    if (record !== undefined && (key === undefined || record.id <= key)) {
      positions.push(record.position % BLOCK_SIZE);
      if (record.id === key) place += 1;
      index += 1;
    } else {
      positions.push(null);
      places.push(place);
      place += 1;
    }
  }
  if (places.length === 0) return;
  const placed = placeInBlocks(positions, context.blockSize, nextId === null);
  const numbers = await numbersFor(context, kind, plan, { stored, positions, places });
  const index = context.index[kind];
  const blockNumbers = [block.number];
  const moved: MovedRecord[] = [];
  let [ofStored, ofNew] = [0, 0];
  for (const [at, placeInParts] of placed.entries()) {
    const place = positions[at] === null ? places[ofNew] : undefined;
    const record = positions[at] === null ? undefined : stored[ofStored];
    const id = record?.id ?? plan.keys[place ?? -1] ?? '';
    const blockNumber = (blockNumbers[Math.floor(placeInParts / context.blockSize)] ??= await index.addBlock(id));
    const to = blockNumber * BLOCK_SIZE + (placeInParts % context.blockSize);
    if (place !== undefined) {
      plan.assign(place, numbers[ofNew] ?? Number.NaN, to);
      index.expectNew(blockNumber);
      ofNew += 1;
    } else if (record !== undefined) {
      if (record.position !== to) moved.push({ ...record, to });
      ofStored += 1;
    }
  }
  await index.move(moved);
}

/** Row numbers for the new records: in id order as long as servers of the previous version need that. */
async function numbersFor(
  context: ImportContext,
  kind: NumberedKind,
  plan: PositionPlan,
  {
    stored,
    positions,
    places,
  }: { stored: readonly StoredRecord[]; positions: readonly (number | null)[]; places: readonly number[] },
): Promise<number[]> {
  const numbers: number[] = [];
  if (context.formerSearch === null) return places.map(() => context.index[kind].nextNumber());
  let ofStored = 0;
  for (let at = 0; at < positions.length; at += 1) {
    if (positions[at] !== null) {
      ofStored += 1;
      continue;
    }
    let end = at;
    while (end < positions.length && positions[end] === null) end += 1;
    const id = plan.keys[places[numbers.length] ?? -1] ?? '';
    const left = stored[ofStored - 1]?.number ?? (await neighbourOf(context.database, kind, id, 'before'));
    const right = stored[ofStored]?.number ?? (await neighbourOf(context.database, kind, id, 'after'));
    numbers.push(...numbersInGap(end - at, left, right));
    at = end - 1;
  }
  return numbers;
}

async function neighbourOf(
  { kysely }: Database,
  kind: NumberedKind,
  id: string,
  side: 'before' | 'after',
): Promise<number | null> {
  const row = await kysely
    .selectFrom(`catalog.${kind}`)
    .select('number')
    .where('id', side === 'before' ? '<' : '>', id)
    .orderBy('id', side === 'before' ? 'desc' : 'asc')
    .limit(1)
    .executeTakeFirst();
  return row?.number ?? null;
}

/**
 * Whether one of these keys is new; if not, the block need not be read. Returns true without checking if there are too
 * many keys.
 */
async function mayHaveNew({ engine, kysely }: Database, kind: NumberedKind, keys: readonly string[]): Promise<boolean> {
  if (keys.length > MAX_KEYS_TO_LOOK_UP) return true;
  const stored = await kysely
    .selectFrom(`catalog.${kind}`)
    .select('id')
    .where((eb) => isOneOf(engine, eb.ref('id'), keys))
    .execute();
  return stored.length < keys.length;
}

async function readKeys(source: Source & { kind: NumberedKind }): Promise<string[]> {
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
  let kept = 0;
  for (const key of keys) {
    if (kept > 0 && keys[kept - 1] === key) continue;
    keys[kept] = key;
    kept += 1;
  }
  keys.length = kept;
  return keys;
}

/** The stored records from `firstId` up to `nextId`, in id order. */
async function loadStored(
  { kysely }: Database,
  kind: NumberedKind,
  firstId: string,
  nextId: string | null,
): Promise<StoredRecord[]> {
  return kysely
    .selectFrom(`catalog.${kind}`)
    .select(['id', 'number', 'position'])
    .where('id', '>=', firstId)
    .$if(nextId !== null, (query) => query.where('id', '<', nextId))
    .orderBy('id')
    .execute();
}

/** The index of the first key that is not less than this one. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
