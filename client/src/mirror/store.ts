import type { ReferenceKind } from './kinds.ts';
import type { CopyChange, Listing, MirrorState } from './state.ts';

/** A short list as its stream has it, a record as JSON on each line, with its ETag. */
export interface ReferenceList {
  readonly records: readonly string[];
  readonly etag: string | null;
}

/**
 * A copy on disk. Each write is atomic, even if the process is killed, and comprises the state and the changes to
 * report. Writes block: a mirror has nothing else to do meanwhile.
 */
export interface Store {
  /** The last saved state. */
  readonly state: MirrorState;
  saveState(state: MirrorState): void;
  /** Saves the lines of a piece together with the progress of the listing. */
  savePiece(lines: readonly string[], listing: Listing): void;
  /** Ends the listing whose last piece was received. A complete one drops the records that it does not have. */
  endListing(nowMs: number): void;
  /** Replaces a short list. */
  saveReferences(kind: ReferenceKind, list: ReferenceList): void;
  countHeld(): MirrorState['held'];
  /** The changes since the last call of `forgetUnreported`, by kind and id. */
  listUnreported(): Iterable<CopyChange>;
  forgetUnreported(): void;
  /**
   * Corrects `is_open` for deadlines that have passed.
   *
   * @returns when to call it again, in milliseconds since 1970; null if that is not needed.
   */
  refreshOpen(nowMs: number): number | null;
  close(): void;
}

/** A problem with the copy on disk. The message says what to do. */
export class CopyError extends Error {
  override name = 'CopyError';
}

/** Another program has locked the copy, possibly for only a moment. */
export class BusyCopyError extends CopyError {}
