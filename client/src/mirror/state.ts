import { KINDS, type Kind } from './kinds.ts';

/** A listing in progress. Saved with each page, so that an interrupted listing resumes from there. */
export interface Walk {
  /** `full`: every record. `changes`: records changed since the watermark of the previous listing. */
  readonly type: 'full' | 'changes';
  /** Sequence number among the listings of this kind. */
  readonly number: number;
  /** The cursor of the next page; null before the first page and after the last. */
  readonly cursor: string | null;
  /** Null before the first page. */
  readonly watermark: string | null;
  /** Whether the last page was received. */
  readonly isReceived: boolean;
  /** The number of records received so far. */
  readonly received: number;
}

/** The sync state of one kind. */
export interface KindState {
  /** The watermark of the last complete listing; null if there is none. */
  readonly watermark: string | null;
  readonly walk: Walk | null;
  /** The number of the last listing. */
  readonly walks: number;
  /** Whether the key has no access to this kind and the operator was notified, which happens only once. */
  readonly isForbidden: boolean;
}

/** The state of a copy, apart from its records. */
export interface MirrorState {
  /** The base URL. Watermarks are valid only for this service. */
  readonly service: string;
  readonly kinds: Readonly<Record<Kind, KindState>>;
  /** When the last reconciling sync (or the first sync) completed, by the local clock. */
  readonly reconciledAt: string | null;
  /** When the details were last synced, by the local clock. */
  readonly detailsAt: string | null;
}

export function initialState(service: string): MirrorState {
  const kind: KindState = { watermark: null, walk: null, walks: 0, isForbidden: false };
  const kinds = Object.fromEntries(KINDS.map((name) => [name, kind])) as Record<Kind, KindState>;
  return { service, kinds, reconciledAt: null, detailsAt: null };
}

/** Returns the state with some fields of one kind replaced. */
export function withKind(state: MirrorState, kind: Kind, changes: Partial<KindState>): MirrorState {
  return { ...state, kinds: { ...state.kinds, [kind]: { ...state.kinds[kind], ...changes } } };
}

/** Returns the state after a listing is complete: the next one starts from its watermark. */
export function withCompletedWalk(state: MirrorState, kind: Kind, walk: Walk): MirrorState {
  return withKind(state, kind, { watermark: walk.watermark, walk: null });
}
