import { KINDS, REFERENCE_KINDS, type FeedKind, type Kind, type ReferenceKind } from './kinds.ts';

/** How many records of a kind were added, changed and removed. */
export interface Changes {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** A change of the copy that the operator's programs are told of. */
export interface CopyChange {
  readonly kind: Kind;
  readonly id: string;
  readonly change: keyof Changes;
}

/** A listing of changes in progress. Saved with each piece, so that an interrupted listing resumes from there. */
export interface Listing {
  /** The cursor of the next piece; null before the first piece and after the last. */
  readonly cursor: string | null;
  /** Whether it has every record, so that all others are dropped. */
  readonly isComplete: boolean;
  /** Null until the last piece was received. */
  readonly watermark: string | null;
  /** The last change received; null before the first. */
  readonly last: { readonly kind: FeedKind; readonly id: string } | null;
  /** The number of changes received so far. */
  readonly received: number;
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
  /** Until the first run has completed, nothing is compared and no change is reported. */
  readonly isFirstCopy: boolean;
  readonly references: {
    /** The watermark for which they were last read. */
    readonly watermark: string | null;
    readonly etags: Readonly<Record<ReferenceKind, string | null>>;
  };
  /** The number of records in the copy; not counted before the first run has completed. */
  readonly held: Readonly<Record<Kind, number>>;
  /** The numbers of changes that were not reported yet. */
  readonly unreported: Readonly<Record<Kind, Changes>>;
}

export const NO_CHANGES: Readonly<Record<Kind, Changes>> = each(KINDS, { added: 0, changed: 0, removed: 0 });

export function initialState(service: string): MirrorState {
  return {
    service,
    partner: null,
    kinds: null,
    watermark: null,
    listing: null,
    isFirstCopy: true,
    references: { watermark: null, etags: each(REFERENCE_KINDS, null) },
    held: each(KINDS, 0),
    unreported: NO_CHANGES,
  };
}

function each<K extends string, T>(names: readonly K[], value: T): Record<K, T> {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<K, T>;
}

/** Returns the state after a listing has ended: the next one starts from its watermark. */
export function withEndedListing(state: MirrorState): MirrorState {
  return { ...state, watermark: state.listing?.watermark ?? null, listing: null };
}

/** Returns the state after a short list was saved. */
export function withReferences(state: MirrorState, kind: ReferenceKind, etag: string | null): MirrorState {
  return { ...state, references: { ...state.references, etags: { ...state.references.etags, [kind]: etag } } };
}

/** Returns the state with these changes counted. */
export function withChanges(state: MirrorState, changes: readonly CopyChange[]): MirrorState {
  if (changes.length === 0) return state;
  const [held, unreported] = [{ ...state.held }, { ...state.unreported } as Record<Kind, Changes>];
  for (const { kind, change } of changes) {
    unreported[kind] = { ...unreported[kind], [change]: unreported[kind][change] + 1 };
    if (change !== 'changed') held[kind] += change === 'added' ? 1 : -1;
  }
  return { ...state, held, unreported };
}

/** Returns the state after the first copy is complete. Its records are counted, but not reported one by one. */
export function withFirstCopy(state: MirrorState, held: Readonly<Record<Kind, number>>): MirrorState {
  const unreported: Record<Kind, Changes> = { ...NO_CHANGES };
  for (const kind of KINDS) unreported[kind] = { added: held[kind], changed: 0, removed: 0 };
  return { ...state, held, unreported, isFirstCopy: false };
}
