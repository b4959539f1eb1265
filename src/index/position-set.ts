import { crc32 } from 'node:zlib';
import type { IndexRow } from '../database/tables.ts';
import type { IndexedKind } from '../kinds.ts';
import { OperatorError } from '../operator-error.ts';
import { quoted } from '../printable.ts';

/** Positions per block: as many as a uint16 can distinguish. */
export const BLOCK_SIZE = 65_536;

/** A longer array would take at least the 8,192 bytes of a bit set. */
const MAX_ARRAY_LENGTH = 4_095;

const BIT_SET_WORDS = BLOCK_SIZE / 32;
const BIT_SET_BYTES = BLOCK_SIZE / 8;

/**
 * A set of positions within a block, stored like a Roaring container: a sorted array of up to 4,095, or one bit per
 * position. Immutable, so that sets can be shared.
 */
export type PositionSet = Uint16Array | Uint32Array;

export const EMPTY_SET: PositionSet = new Uint16Array(0);

/** @param positions ascending and distinct. The set can keep the array. */
export function setOf(positions: Uint16Array): PositionSet {
  if (positions.length <= MAX_ARRAY_LENGTH) return positions;
  const bits = new Uint32Array(BIT_SET_WORDS);
  addTo(bits, positions);
  return bits;
}

/** The stored form: little-endian; only a bit set is 8,192 bytes long. */
export function encodeSet(set: PositionSet): Uint8Array {
  return new Uint8Array(set.buffer, set.byteOffset, set.byteLength);
}

/**
 * Reads a set encoded by {@link encodeSet}. Copies bytes that share a buffer: typed arrays need aligned offsets, and a
 * cached set would keep the whole buffer in memory.
 */
export function decodeSet(bytes: Uint8Array): PositionSet {
  const { buffer, byteOffset, byteLength } =
    bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
  return byteLength === BIT_SET_BYTES
    ? new Uint32Array(buffer, byteOffset, BIT_SET_WORDS)
    : new Uint16Array(buffer, byteOffset, byteLength / 2);
}

/** The number of positions in a set. */
export function sizeOf(set: PositionSet): number {
  if (set instanceof Uint16Array) return set.length;
  let size = 0;
  for (let word = 0; word < BIT_SET_WORDS; word += 1) size += countBits(at(set, word));
  return size;
}

/** Population count of 32 bits (Hacker's Delight, 5-1). */
function countBits(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The union of the sets. */
export function unionOf(sets: readonly PositionSet[]): PositionSet {
  const filled = sets.filter((set) => set.length > 0);
  const [first = EMPTY_SET, second = EMPTY_SET] = filled;
  if (filled.length <= 1) return first;
  if (filled.length === 2 && first instanceof Uint16Array && second instanceof Uint16Array) {
    return setOf(mergeArrays(first, second));
  }
  const bits = new Uint32Array(BIT_SET_WORDS);
  for (const set of filled) addTo(bits, set);
  return fromBits(bits);
}

/** Adds a set's positions to a bit set that is not shared. */
function addTo(bits: Uint32Array, set: PositionSet): void {
  if (set instanceof Uint32Array) {
    for (let word = 0; word < BIT_SET_WORDS; word += 1) bits[word] = at(bits, word) | at(set, word);
  } else {
    for (const position of set) bits[position >>> 5] = at(bits, position >>> 5) | (1 << (position & 31));
  }
}

/** The intersection of two sets. */
export function intersectionOf(one: PositionSet, other: PositionSet): PositionSet {
  if (one instanceof Uint32Array && other instanceof Uint32Array) {
    const bits = new Uint32Array(BIT_SET_WORDS);
    for (let word = 0; word < BIT_SET_WORDS; word += 1) bits[word] = at(one, word) & at(other, word);
    return bits;
  }
  const [few, many] = one instanceof Uint16Array ? [one, other] : [other as Uint16Array, one];
  return many instanceof Uint32Array ? pick(few, many) : intersectArrays(few, many);
}

/** The array's positions whose bits are set. A loop: `filter` with a callback takes three times as long. */
function pick(few: Uint16Array, bits: Uint32Array): Uint16Array {
  const both = new Uint16Array(few.length);
  let length = 0;
  for (const position of few) if (hasBit(bits, position)) both[length++] = position;
  return both.subarray(0, length);
}

/** The positions in the first set but not in the second. */
export function differenceOf(one: PositionSet, other: PositionSet): PositionSet {
  if (other.length === 0) return one;
  if (one instanceof Uint16Array) return one.filter((position) => !contains(other, position));
  const without = toBits(other);
  const bits = new Uint32Array(BIT_SET_WORDS);
  for (let word = 0; word < BIT_SET_WORDS; word += 1) bits[word] = at(one, word) & ~at(without, word);
  return fromBits(bits);
}

/** Up to `limit` positions from `from` on, ascending. */
export function positionsFrom(set: PositionSet, from: number, limit: number): number[] {
  const positions: number[] = [];
  if (set instanceof Uint16Array) {
    for (let index = firstNotBelow(set, from); index < set.length && positions.length < limit; index += 1) {
      positions.push(at(set, index));
    }
    return positions;
  }
  for (let word = from >>> 5; word < BIT_SET_WORDS && positions.length < limit; word += 1) {
    let bits = at(set, word);
    if (word === from >>> 5) bits &= -1 << (from & 31);
    while (bits !== 0 && positions.length < limit) {
      positions.push(word * 32 + lowestBit(bits));
      bits &= bits - 1;
    }
  }
  return positions;
}

/** A new bit set with the same positions. */
export function toBits(set: PositionSet): Uint32Array {
  const bits = new Uint32Array(BIT_SET_WORDS);
  addTo(bits, set);
  return bits;
}

/** The set in its smaller form. It can keep `bits`. */
export function fromBits(bits: Uint32Array): PositionSet {
  const size = sizeOf(bits);
  if (size > MAX_ARRAY_LENGTH) return bits;
  const positions = new Uint16Array(size);
  let length = 0;
  for (let word = 0; length < size; word += 1) {
    for (let rest = at(bits, word); rest !== 0; rest &= rest - 1) positions[length++] = word * 32 + lowestBit(rest);
  }
  return positions;
}

/** @throws RangeError if the index is out of range. */
export function at(numbers: PositionSet, index: number): number {
  const number = numbers[index];
  if (number === undefined) throw new RangeError(`no element ${index} of ${numbers.length}`);
  return number;
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}

export function contains(set: PositionSet, position: number): boolean {
  return set instanceof Uint32Array ? hasBit(set, position) : set[firstNotBelow(set, position)] === position;
}

function hasBit(bits: Uint32Array, position: number): boolean {
  return ((at(bits, position >>> 5) >>> (position & 31)) & 1) === 1;
}

function intersectArrays(one: Uint16Array, other: Uint16Array): Uint16Array {
  const both = new Uint16Array(Math.min(one.length, other.length));
  let length = 0;
  let index = 0;
  for (const position of one) {
    while (index < other.length && at(other, index) < position) index += 1;
    if (other[index] === position) both[length++] = position;
  }
  return both.subarray(0, length);
}

function mergeArrays(one: Uint16Array, other: Uint16Array): Uint16Array {
  const merged = new Uint16Array(one.length + other.length);
  let length = 0;
  let index = 0;
  for (const position of one) {
    while (index < other.length && at(other, index) < position) merged[length++] = at(other, index++);
    if (other[index] === position) index += 1;
    merged[length++] = position;
  }
  while (index < other.length) merged[length++] = at(other, index++);
  return merged.subarray(0, length);
}

function firstNotBelow(sorted: Uint16Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at(sorted, middle) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A row of a kind's index. */
export type StoredSet = Readonly<IndexRow>;

/** A stored set is damaged, missing, or belongs to another term. */
export class DamagedIndexError extends OperatorError {}

/** Returns a row with its checksum. */
export function storedSet(kind: IndexedKind, block: number, term: string, bits: Uint8Array): StoredSet {
  return { block, term, bits, checksum: checksumOf(kind, block, term, bits) };
}

/** Whether a row is the one that was written for its kind, block and term. Always true without a checksum. */
export function isIntact(kind: IndexedKind, { block, term, bits, checksum }: StoredSet): boolean {
  return checksum === null || checksum === checksumOf(kind, block, term, bits);
}

/** @throws DamagedIndexError if the checksum differs: the row could show records that a partner must not see. */
export function decodeStoredSet(kind: IndexedKind, row: StoredSet): PositionSet {
  if (isIntact(kind, row)) return decodeSet(row.bits);
  throw new DamagedIndexError(
    `the index of ${kind} is damaged: the set of ${quoted(row.term)} in block ${row.block} is not the one that was ` +
      'written. Run "pds reindex". If it happens again, look for a failing disk or a program that writes to the tables',
  );
}

/** Signed, so that it fits into four bytes of either database. */
function checksumOf(kind: IndexedKind, block: number, term: string, bits: Uint8Array): number {
  return crc32(bits, crc32(`${kind} ${block} ${term}`)) | 0;
}
