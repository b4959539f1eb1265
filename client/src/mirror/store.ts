import type { Kind, ListedRecord } from './kinds.ts';
import type { MirrorState, Walk } from './state.ts';

/** How many records of a kind differ from what was held before. */
export interface Changes {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** A solicitation whose detail is to be read, and the tag of the one that is held. */
export interface DueDetail {
  readonly id: string;
  readonly etag: string | null;
}

/** Which details are to be read. */
export interface DueOptions {
  readonly nowMs: number;
  /** In how much time each detail is read once, also where its solicitation is not open. */
  readonly refreshMs: number;
}

/** What became of a detail that was asked for. */
export type DetailOutcome =
  | { readonly type: 'received'; readonly etag: string | null; readonly detail: ListedRecord }
  /** 304: as it is held. */
  | { readonly type: 'unchanged' }
  /** 404: not there, or not visible any more. */
  | { readonly type: 'gone' };

/**
 * A copy on disk. Each method that writes is all or nothing, also where the process is killed in it. Details are an
 * exception that does no harm: one that was not written is read again.
 */
export interface Store {
  /** As it was saved last. */
  readonly state: MirrorState;
  saveState(state: MirrorState): Promise<void>;
  /** Saves records, and with them how far the walk is. */
  savePage(kind: Kind, records: readonly ListedRecord[], walk: Walk): Promise<void>;
  /** Ends the walk that was received: a full one drops what it did not receive, and its watermark is saved. */
  completeWalk(kind: Kind, nowMs: number): Promise<Changes>;
  /** Drops all that is held of a kind, and its watermark; returns how many records that were. */
  dropKind(kind: Kind): Promise<number>;
  countHeld(kind: Kind): Promise<number>;
  /** Those that are open, were open when they were last read, or changed; and a share of the others, longest unread first. */
  listDueDetails(options: DueOptions): Promise<DueDetail[]>;
  /** Whether it changed what is held. */
  saveDetail(id: string, outcome: DetailOutcome, nowMs: number): Promise<boolean>;
  /** To be called when all due details were saved. */
  completeDetails(nowMs: number): Promise<void>;
  /**
   * Writes anew what a deadline that passed has made wrong.
   *
   * @returns the next deadline to call it at, in milliseconds since 1970; null where that is not needed.
   */
  refreshOpen(nowMs: number): Promise<number | null>;
  close(): Promise<void>;
}

/** Of solicitations that are not open, at least so many details that were never read are read in each run. */
export const NEVER_READ_A_RUN = 100;

/** How many of so many solicitations have their details read in this run, so that each is read once in the period. */
export function shareOf(solicitations: number, { nowMs, refreshMs }: DueOptions, lastRun: string | null): number {
  if (refreshMs === 0) return solicitations;
  const elapsedMs = lastRun === null ? 0 : Math.max(0, nowMs - Date.parse(lastRun));
  return Math.ceil(solicitations * Math.min(1, elapsedMs / refreshMs));
}

/** What is wrong with the copy, or in its way, and what to do. */
export class CopyError extends Error {
  override name = 'CopyError';
}

/** Another program is in the way, and may be gone in a moment. */
export class BusyCopyError extends CopyError {}
