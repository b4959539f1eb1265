import type { Client } from '../client.ts';
import type { Pace } from './pace.ts';
import type { Store } from './store.ts';

/** The dependencies shared by all steps of a sync. */
export interface SyncContext {
  readonly client: Client;
  readonly store: Store;
  readonly pace: Pace;
  /** Milliseconds since 1970. Decides what is open and which details are due; never what changed. */
  readonly clock: () => number;
  /** Graceful stop: no further requests are sent, but the one in flight is still used. */
  readonly stop: AbortSignal;
  /** Aborts the request in flight. */
  readonly abort: AbortSignal;
  /** ETags for conditional requests of details. */
  readonly tags: DetailTags;
  readonly progress: ProgressListener;
  /** Shows the operator a one-sentence notice. */
  readonly tell: (message: string) => void;
}

export interface ProgressListener {
  /** @param total null if unknown in advance. */
  begin(what: string, done: number, total: number | null): void;
  advance(done: number): void;
  end(): void;
}

/** The operator stopped the mirror. Everything received so far is saved. */
export class StoppedError extends Error {
  override name = 'StoppedError';
}

/** Waits until the rate limit allows a request. @throws StoppedError */
export async function takeTurn({ stop, pace }: SyncContext): Promise<void> {
  try {
    await pace.turn(stop);
  } catch (error) {
    if (!stop.aborted) throw error;
  }
  if (stop.aborted) throw new StoppedError('stopped; the next run continues from here');
}

/**
 * The client's cache, reduced to the ETag of one detail at a time. The copy already holds the bodies, so only the ETag
 * goes in and out, and the body of a 304 is never used.
 */
export class DetailTags {
  #requestedTag: string | null = null;
  /** The ETag of the response; null if it had none. */
  received: string | null = null;
  /** Whether the response was a 304: the stored detail is still current. */
  isUnchanged = false;

  /** Call before requesting a detail. */
  begin(etag: string | null): void {
    this.#requestedTag = etag;
    this.received = null;
    this.isUnchanged = false;
  }

  /** Call after the request, so that other requests are not made conditional. */
  clear(): void {
    this.#requestedTag = null;
  }

  /** Call with the status of each response. */
  note(status: number): void {
    this.isUnchanged = status === 304;
  }

  /** Supplies an empty record as the cached body. It must not be stored, which `isUnchanged` signals. */
  get(): { etag: string; body: string } | undefined {
    return this.#requestedTag === null ? undefined : { etag: this.#requestedTag, body: '{"id":""}' };
  }

  set(_target: string, { etag }: { etag: string }): void {
    this.received = etag;
  }
}
