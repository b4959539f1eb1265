import type { BlockBuilder, IndexEntry } from './block-builder.ts';
import type { PositionedRow } from './indexed-rows.ts';
import { BLOCK_SIZE, encodeSet } from './position-set.ts';
import { collectTerms, type IndexedKind } from './terms.ts';

/* Shared by worker threads and the main thread. Imports no database code, so that threads start quickly. */

/** A row of the index, as stored. */
export interface StoredEntry {
  readonly term: string;
  readonly bits: Uint8Array;
}

/** A message to a thread: a batch of records, or the end of the block. */
export type BuilderMessage =
  { readonly kind: IndexedKind; readonly rows: readonly PositionedRow<IndexedKind>[] } | 'complete';

/** A block's rows in transit between threads: all sets in one buffer, which is transferred without copying. */
export interface BuiltBlock {
  readonly terms: readonly string[];
  /** The end offset of each set. */
  readonly ends: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Adds records to a block's rows. */
export function addRows(builder: BlockBuilder, kind: IndexedKind, rows: readonly PositionedRow<IndexedKind>[]): void {
  for (const row of rows) {
    builder.begin(row.position % BLOCK_SIZE);
    collectTerms(kind, row, builder);
  }
}

export function toStored(entries: readonly IndexEntry[]): StoredEntry[] {
  return entries.map(({ term, set }) => ({ term, bits: encodeSet(set) }));
}
