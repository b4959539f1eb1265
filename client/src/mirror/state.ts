import { KINDS, type Kind } from './kinds.ts';

/** A walk that has begun. It is saved with each page that it receives, so that it goes on where it broke off. */
export interface Walk {
  /** `full`: all that there is. `changes`: what changed since the watermark of the walk before. */
  readonly type: 'full' | 'changes';
  /** Counts up with each walk of the kind. */
  readonly number: number;
  /** Of the next page; null before the first and after the last. */
  readonly cursor: string | null;
  /** Null before the first page. */
  readonly watermark: string | null;
  /** Whether its last page was received. */
  readonly isReceived: boolean;
  /** Records so far. */
  readonly received: number;
}

/** What is known of a kind. */
export interface KindState {
  /** Of the last walk that was completed; null before there was one. */
  readonly watermark: string | null;
  readonly walk: Walk | null;
  /** The number of the last walk. */
  readonly walks: number;
  /** Whether the key may not ask for this kind, which is told only once. */
  readonly isForbidden: boolean;
}

/** What a copy has to remember besides the records. */
export interface MirrorState {
  /** The base URL: instants of another service mean nothing here. */
  readonly service: string;
  readonly kinds: Readonly<Record<Kind, KindState>>;
  /** When the last reconciling sync, or the first sync, was complete: an instant of this machine's clock. */
  readonly reconciledAt: string | null;
  /** When the details were last brought up to date: an instant of this machine's clock. */
  readonly detailsAt: string | null;
}

export function initialState(service: string): MirrorState {
  const kind: KindState = { watermark: null, walk: null, walks: 0, isForbidden: false };
  const kinds = Object.fromEntries(KINDS.map((name) => [name, kind])) as Record<Kind, KindState>;
  return { service, kinds, reconciledAt: null, detailsAt: null };
}

/** The state with some of a kind changed. */
export function withKind(state: MirrorState, kind: Kind, changes: Partial<KindState>): MirrorState {
  return { ...state, kinds: { ...state.kinds, [kind]: { ...state.kinds[kind], ...changes } } };
}

/** The walk is complete: its watermark is where the next one begins. */
export function withCompletedWalk(state: MirrorState, kind: Kind, walk: Walk): MirrorState {
  return withKind(state, kind, { watermark: walk.watermark, walk: null });
}
