import { sql, type RawBuilder } from 'kysely';
import type { Snapshot } from '../access/snapshot.ts';
import type { Engine, Query, Texts, TextsToRead } from '../database/database.ts';
import { isInParts, keysInParts, listedKeys, parameter, rangeInParts } from '../database/statement.ts';
import type { FoundRecords } from '../index/record-index.ts';
import type { ListedRecords, Listing } from './pages.ts';
import type { Since } from './since.ts';

/* Reads texts as bytes, for pages, streams, the feed and single records. */

/** More than a text can have: the largest integer of a comparison with `octet_length` on PostgreSQL. */
const ANY_SIZE = 2 ** 31 - 1;

export interface BatchRequest {
  readonly since: Since | null;
  /** The key before the first; null for the start of the list. */
  readonly after: string | null;
  /** The last key; null for no limit. */
  readonly until?: string | null;
  readonly limit: number;
  readonly now: string;
  /** A batch is not larger, unless it has only one record. */
  readonly maxBytes: number;
}

/** The next records of a list, as lines. */
export interface Batch extends Texts {
  readonly hasMore: boolean;
}

export const NO_RECORDS: Batch = {
  ...{ bytes: new Uint8Array(), count: 0, last_key: null, changes_at: null, hasMore: false },
};

/** Reads the next records of a list. @throws OtherSnapshotError if a statement saw another snapshot. */
export async function readBatch(
  snapshot: Snapshot,
  listing: Listing,
  { since, after, until = null, limit, now, maxBytes }: BatchRequest,
): Promise<Batch> {
  const { records } = listing;
  const { positions, hasMore, isRange } = await listing.find(snapshot, { since, now }, after, limit, until);
  const read = (found: FoundRecords['positions'], bytes: number, by: 'list' | 'range'): Promise<Texts> => {
    const [first = null, last = null] = [found[0], found.at(-1)];
    const values = by === 'list' ? { found } : { first, last };
    const inParts = isInParts(snapshot.engine, found.length);
    const name = `${records.name} by ${by}${inParts ? ', in parts' : ''}`;
    return snapshot.readTexts(name, () => batchQuery(snapshot.engine, records, by, inParts), { ...values, now, bytes });
  };
  let found = positions;
  const length = Number(positions.at(-1)) - Number(positions[0]);
  // Records of other blocks can be in the range: then the number of texts differs. Records that are not served can be in
  // it too: reading many would block other requests. PostgreSQL also looks up each hundred positions of it.
  const maxLength = (records.isServed === null ? 8 : 2) * positions.length;
  const isInRange = isRange && length >= 0 && length < maxLength;
  // Texts of an equal share each fit together, which is known without adding up their sizes.
  const share = Math.floor(maxBytes / Math.max(1, positions.length));
  let batch = await read(positions, share, isInRange ? 'range' : 'list');
  if (batch.count !== found.length) {
    found = await firstFitting(snapshot, records, positions, maxBytes);
    batch = await read(found, ANY_SIZE, 'list');
  }
  if (batch.count !== found.length)
    throw new Error(`the index names ${found.length - batch.count} records that are not stored`);
  const last = found.at(-1);
  if (batch.last_key !== null && last !== undefined) listing.remember?.(snapshot, batch.last_key, last);
  return { ...batch, hasMore: hasMore || found.length < positions.length };
}

/** The first of some records whose texts fit into a size: at least one, whatever its own. */
async function firstFitting(
  snapshot: Snapshot,
  records: ListedRecords,
  found: FoundRecords['positions'],
  maxBytes: number,
): Promise<FoundRecords['positions']> {
  const sizes = await snapshot.run(sizesQuery(snapshot.engine, records, found));
  sizes.sort((one, other) => one.ordinal - other.ordinal);
  let total = 0;
  const firstTooMany = sizes.findIndex(({ bytes }) => (total += bytes ?? 0) > maxBytes);
  return firstTooMany === -1 ? found : found.slice(0, Math.max(1, firstTooMany));
}

/**
 * Reads the texts of the records in the parameter `found`, or in a range of positions, which takes half the time on
 * PostgreSQL. A text larger than the parameter `bytes` is neither read nor returned.
 *
 * @param inParts on PostgreSQL, for more than a hundred.
 */
export function batchQuery(engine: Engine, listed: ListedRecords, by: 'list' | 'range', inParts: boolean): TextsToRead {
  const { table, key, text, bytes, isServed, changesAt = sql<null>`cast(null as text)` } = listed;
  const stored = sql`${sql.table(`catalog.${table}`)} as record`;
  const columns = sql`${sql.ref(`record.${key}`)} as key, ${text} as text, ${changesAt} as changes_at`;
  const fits = sql`${bytes} <= ${parameter('bytes')}`;
  if (by === 'list') {
    const args = ['found', typeOf(listed), 'listed'] as const;
    const { keys, ...parts } = inParts ? keysInParts(...args) : { keys: listedKeys(engine, ...args) };
    // A cross join, since SQLite joins it in this order: its own choice was to scan the whole table if the key was text.
    const texts: TextsToRead['texts'] = sql`select listed.ordinal, ${columns} from ${keys} cross join ${stored}
      where ${foundColumn(listed)} = listed.value and ${fits}`;
    return { texts, isInOrder: true, ...parts };
  }
  const whole = { range: sql`${parameter('first')} and ${parameter('last')}` };
  const { range, ...parts } = inParts ? rangeInParts('first', 'last') : whole;
  const served = isServed === null ? sql`` : sql` and ${isServed}`;
  return {
    texts: sql`select record.position as ordinal, ${columns} from ${stored}
      where record.position between ${range}${served} and ${fits}`,
    ...parts,
  };
}

/** Reads the sizes and keys of some records; null for one that is not stored. */
export function sizesQuery(
  engine: Engine,
  listed: ListedRecords,
  found: FoundRecords['positions'],
): Query<{ ordinal: number; bytes: number | null; key: string | null }> {
  return {
    statementKey: `sizes of ${listed.name}`,
    columns: ['ordinal', 'bytes', 'key'],
    build: () => sql`select listed.ordinal, ${listed.bytes} as bytes, ${sql.ref(`record.${listed.key}`)} as key
      from ${listedKeys(engine, 'found', typeOf(listed), 'listed')}
      left join ${sql.table(`catalog.${listed.table}`)} as record on ${foundColumn(listed)} = listed.value`,
    values: { found },
  };
}

/** The key of a record in a list. */
export async function readKey(snapshot: Snapshot, listed: ListedRecords, found: number | string): Promise<string> {
  if (typeof found === 'string') return found;
  const [row] = await snapshot.run(sizesQuery(snapshot.engine, listed, [found]));
  if (typeof row?.key !== 'string') throw new Error('the index names a record that is not stored');
  return row.key;
}

function foundColumn({ foundBy, key }: ListedRecords): RawBuilder<unknown> {
  return sql.ref(`record.${foundBy === 'position' ? 'position' : key}`);
}

function typeOf({ foundBy }: ListedRecords): 'bigint' | 'text' {
  return foundBy === 'position' ? 'bigint' : 'text';
}

const LINE_FEED = 10;
const COMMA = 44;
const START = Buffer.from('{"data":[');

/**
 * Frees the memory of bytes that are not needed any more. Otherwise V8, which counts it, collects the whole heap after some
 * megabytes: a stream takes a third more CPU time then, while others' requests wait.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  // Smaller ones can be in Node's pool, whose memory several buffers share; no buffer fills half of the pool.
  if (byteLength > buffer.byteLength / 2) (buffer as ArrayBuffer).transfer(0);
}

/** A page of JSON with these lines. Takes their memory: JSON has no line feed of its own, so each becomes a comma. */
export function pageOfLines(lines: Uint8Array, meta: object): Buffer {
  // A `Buffer`, whose search is ten times as fast.
  const items = Buffer.from(lines.buffer, lines.byteOffset, Math.max(0, lines.length - 1));
  for (let index = items.indexOf(LINE_FEED); index !== -1; index = items.indexOf(LINE_FEED, index + 1))
    items[index] = COMMA;
  const end = Buffer.from(`],"meta":${JSON.stringify(meta)}}`);
  // Not from Node's buffer pool: a short text would keep a whole pool block alive.
  const page = Buffer.allocUnsafeSlow(START.length + items.length + end.length);
  page.set(START);
  page.set(items, START.length);
  page.set(end, START.length + items.length);
  freeMemory(lines);
  return page;
}
