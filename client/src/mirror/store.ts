import type { Kind, ListedRecord } from './kinds.ts';
import type { MirrorState, Walk } from './state.ts';

/** How many records of a kind a sync added, changed and removed. */
export interface Changes {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** A solicitation whose detail must be read, with the ETag of the stored detail. */
export interface DueDetail {
  readonly id: string;
  readonly etag: string | null;
}

/** Selects the details to read. */
export interface DueOptions {
  readonly nowMs: number;
  /** The period in which every detail is read at least once, even if its solicitation is not open. */
  readonly refreshMs: number;
}

/** The result of requesting a detail. */
export type DetailOutcome =
  | { readonly type: 'received'; readonly etag: string | null; readonly detail: ListedRecord }
  /** 304: the stored detail is current. */
  | { readonly type: 'unchanged' }
  /** 404: removed, or no longer visible. */
  | { readonly type: 'gone' };

/**
 * A copy on disk. Each write is atomic, even if the process is killed. Details are a harmless exception: one that was
 * lost is read again.
 */
export interface Store {
  /** The last saved state. */
  readonly state: MirrorState;
  saveState(state: MirrorState): Promise<void>;
  /** Saves a page of records together with the progress of the listing. */
  savePage(kind: Kind, records: readonly ListedRecord[], walk: Walk): Promise<void>;
  /** Completes a listing and saves its watermark. A full listing drops the records it did not contain. */
  completeWalk(kind: Kind, nowMs: number): Promise<Changes>;
  /** Drops all records of a kind and its watermark. Returns the number of records dropped. */
  dropKind(kind: Kind): Promise<number>;
  countHeld(kind: Kind): Promise<number>;
  /** Details that are open, were open when last read, or changed; then a share of the others, oldest read first. */
  listDueDetails(options: DueOptions): Promise<DueDetail[]>;
  /** Saves the outcome of one request. Returns whether it changed the copy. */
  saveDetail(id: string, outcome: DetailOutcome, nowMs: number): Promise<boolean>;
  /** Call after all due details are saved. */
  completeDetails(nowMs: number): Promise<void>;
  /**
   * Corrects `is_open` for deadlines that have passed.
   *
   * @returns when to call it again, in milliseconds since 1970; null if that is not needed.
   */
  refreshOpen(nowMs: number): Promise<number | null>;
  close(): Promise<void>;
}

/** Each run reads at least this many never-read details of solicitations that are not open, if there are that many. */
export const NEVER_READ_A_RUN = 100;

/** The number of details to read in this run, by the time since the last one, so that `refreshMs` covers them all. */
export function shareOf(solicitations: number, { nowMs, refreshMs }: DueOptions, lastRun: string | null): number {
  if (refreshMs === 0) return solicitations;
  const elapsedMs = lastRun === null ? 0 : Math.max(0, nowMs - Date.parse(lastRun));
  return Math.ceil(solicitations * Math.min(1, elapsedMs / refreshMs));
}

/** A problem with the copy on disk. The message says what to do. */
export class CopyError extends Error {
  override name = 'CopyError';
}

/** Another program has locked the copy, possibly for only a moment. */
export class BusyCopyError extends CopyError {}
