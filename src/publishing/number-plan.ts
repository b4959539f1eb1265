import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { renumberStatements } from '../database/renumbering.ts';
import { lineKey } from './line-key.ts';
import { readLines } from './lines.ts';
import { numbersBetween, type Neighbour } from './number-gaps.ts';
import type { NumberedKind } from './records.ts';
import { MAX_LINE_BYTES } from './size-limits.ts';
import type { Source } from './source.ts';

/** Stored records that are looked at together. */
const PAGE_ROWS = 20_000;

/** What a plan knows of a key. */
export interface PlannedKey {
  key: string;
  /** Null for one that is stored. */
  number: number | null;
  /** Among the keys of the source, in their order. */
  place: number;
}

/** The keys that a source names, with the numbers of those that are new. */
export class NumberPlan {
  /** In order, each once. */
  readonly #keys: readonly string[];
  /** By the place of the key; NaN for one that is stored. */
  readonly #numbers: Float64Array;
  #next = 0;

  constructor(keys: readonly string[], numbers: Float64Array) {
    this.#keys = keys;
    this.#numbers = numbers;
  }

  get size(): number {
    return this.#keys.length;
  }

  /** Null where the source was not seen to name the key. */
  find(key: string): PlannedKey | null {
    const place = this.#keys[this.#next] === key ? this.#next : this.#search(key);
    const known = this.#keys[place];
    if (known !== key) return null;
    // Most files are in order.
    this.#next = place + 1;
    const number = this.#numbers[place] ?? Number.NaN;
    return { key: known, number: Number.isNaN(number) ? null : number, place };
  }

  #search(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] ?? '') < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * Reads the keys of a source, and gives each that is new a number between those of its
 * neighbours. Where there is no room between two, the whole table is numbered anew first.
 */
export async function planNumbers(
  database: Database,
  source: Source & { kind: NumberedKind },
  stride: number,
): Promise<NumberPlan> {
  const keys = await readKeys(source);
  for (let width = stride; ; width *= 2) {
    const numbers = await planOnce(database, source.kind, keys, stride);
    if (numbers !== null) return new NumberPlan(keys, numbers);
    for (const statement of renumberStatements(database.engine, source.kind, width)) {
      await sql.raw(statement).execute(database.kysely);
    }
  }
}

async function readKeys(source: Source & { kind: NumberedKind }): Promise<string[]> {
  const keys: string[] = [];
  for await (const lines of readLines(source.open())) {
    for (const { bytes } of lines) {
      // It will be refused, and is not parsed for its key.
      if (bytes.length > MAX_LINE_BYTES[source.kind]) continue;
      const key = lineKey(bytes);
      if (key !== null) keys.push(key);
    }
  }
  // Ids are ASCII, for which the default order is the bytewise one.
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

/** Walks the keys and what is stored side by side; null where a gap has no room. */
async function planOnce(
  database: Database,
  kind: NumberedKind,
  keys: readonly string[],
  stride: number,
): Promise<Float64Array | null> {
  const numbers = new Float64Array(keys.length).fill(Number.NaN);
  let left: Neighbour | null = null;
  let place = 0;
  const fill = (end: number, right: Neighbour | null): boolean => {
    if (place === end) return true;
    const planned = numbersBetween(keys.slice(place, end), left, right, stride);
    if (planned !== null) numbers.set(planned, place);
    return planned !== null;
  };
  for await (const row of storedInOrder(database, kind)) {
    let end = place;
    while (end < keys.length && (keys[end] ?? '') < row.id) end += 1;
    if (!fill(end, row)) return null;
    place = keys[end] === row.id ? end + 1 : end;
    if (place === keys.length) return numbers;
    left = row;
  }
  return fill(keys.length, null) ? numbers : null;
}

/** All stored records in the order of their ids. Walks the unique index on id. */
async function* storedInOrder({ kysely }: Database, kind: NumberedKind): AsyncGenerator<Neighbour> {
  let after = '';
  for (;;) {
    const rows: Neighbour[] = await kysely
      .selectFrom(`catalog.${kind}`)
      .select(['id', 'number'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE_ROWS)
      .execute();
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) return;
    after = last.id;
  }
}
