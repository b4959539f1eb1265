import type { BlockBuilder, IndexEntry } from './block-builder.ts';
import type { PositionedRow } from './indexed-rows.ts';
import { BLOCK_SIZE, encodeSet } from './position-set.ts';
import { collectTerms, type IndexedKind } from './terms.ts';

/* What threads and the main thread share; imports nothing of the database, so that threads start soon. */

/** A row of the index, as it is stored. */
export interface StoredEntry {
  readonly term: string;
  readonly bits: Uint8Array;
}

/** What a thread is told: a batch of records, or that the block is complete. */
export type BuilderMessage =
  { readonly kind: IndexedKind; readonly rows: readonly PositionedRow<IndexedKind>[] } | 'complete';

/** Rows of a block on their way between threads: all sets in one piece of memory, which is handed over and not copied. */
export interface BuiltBlock {
  readonly terms: readonly string[];
  /** Where each set ends. */
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
