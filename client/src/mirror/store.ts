import { KINDS, REFERENCE_KINDS, type FeedChange, type Kind, type ReferenceKind } from './kinds.ts';

/** A change of the copy that the operator's programs are told of. */
export interface CopyChange {
  readonly kind: Kind;
  readonly id: string;
  readonly change: 'added' | 'changed' | 'removed';
  /** The record's JSON before the change; null if it was added, or if a version before 2.1 noted the change. */
  readonly before: string | null;
  /** The record's JSON now; null if it was removed. */
  readonly record: string | null;
}

export function changeOf(before: string | null, record: string | null): CopyChange['change'] {
  if (before === null) return 'added';
  return record === null ? 'removed' : 'changed';
}

/** The number of changes of a kind. */
export interface ChangeCount extends Pick<CopyChange, 'kind' | 'change'> {
  readonly count: number;
}

/** A listing of changes in progress. Saved with each piece, so that an interrupted listing resumes from there. */
export interface Listing {
  /** The cursor of the next piece; null before the first piece and after the last. */
  readonly cursor: string | null;
  /** Whether it has every record, so that all others are dropped. */
  readonly isComplete: boolean;
  /** Null until the last piece was received. */
  readonly watermark: string | null;
  /** The last change received, without its record; null before the first. */
  readonly last: FeedChange | null;
}

/** The state of a copy, apart from its records. */
export interface MirrorState {
  /** The base URL. Watermarks are valid only for this service. */
  readonly service: string;
  /** The partner's name. Another partner sees other records, so its first listing is complete. */
  readonly partner: string | null;
  /** The kinds that the key can read; null before the first run. */
  readonly kinds: readonly Kind[] | null;
  /** The watermark of the last listing; null if there is none. */
  readonly watermark: string | null;
  readonly listing: Listing | null;
  /** Until the first copy was reported, no change is. */
  readonly isFirstCopy: boolean;
  readonly references: {
    /** The watermark for which they were last read. */
    readonly watermark: string | null;
    readonly etags: Readonly<Record<ReferenceKind, string | null>>;
  };
  /** The number of records in the copy. */
  readonly held: Readonly<Record<Kind, number>>;
}

export function initialState(service: string): MirrorState {
  return {
    ...{ service, partner: null, kinds: null, watermark: null, listing: null, isFirstCopy: true },
    references: { watermark: null, etags: each(REFERENCE_KINDS, () => null) },
    held: each(KINDS, () => 0),
  };
}

/** Returns the state in which everything is read again. */
export function readingAgain(state: MirrorState): MirrorState {
  const { watermark, listing, references } = initialState(state.service);
  return { ...state, watermark, listing, references };
}

/** An object with a value for each name. */
export function each<Name extends string, T>(names: readonly Name[], make: (name: Name) => T): Record<Name, T> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, T>;
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
  endListing(state: MirrorState, nowMs: number): void;
  /** Replaces a short list by these records. */
  saveReferences(kind: ReferenceKind, records: readonly string[], state: MirrorState): void;
  /** The changes since the last call of `forgetUnreported`. */
  listUnreported(): Iterable<CopyChange>;
  /** Their numbers, without reading the records. */
  countUnreported(): Iterable<ChangeCount>;
  /** Call after a report. The first copy ends with it. */
  forgetUnreported(): void;
  /**
   * Corrects `is_open` for deadlines that have passed.
   *
   * @returns when to call it again, in milliseconds since 1970; `Infinity` if that is not needed.
   */
  refreshOpen(nowMs: number): number;
  close(): void;
}

/** A problem with the copy on disk. The message says what to do. */
export class CopyError extends Error {
  override name = 'CopyError';
}

/** Another program has locked the copy, possibly for only a moment. */
export class BusyCopyError extends CopyError {}
