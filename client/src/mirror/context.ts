import type { Client } from '../client.ts';
import type { Pace } from './pace.ts';
import type { Store } from './store.ts';

/** What the parts of a sync work with. */
export interface SyncContext {
  readonly client: Client;
  readonly store: Store;
  readonly pace: Pace;
  /** Milliseconds since 1970. Decides what is open and what is due; never what changed. */
  readonly clock: () => number;
  /** Says that no further request is to be made; the one that is in flight is still used. */
  readonly stop: AbortSignal;
  /** Ends what is in flight. */
  readonly abort: AbortSignal;
  /** Tags for conditional requests of details. */
  readonly tags: DetailTags;
  readonly progress: ProgressListener;
  /** Is told, in one sentence, what whoever runs it should know. */
  readonly tell: (message: string) => void;
}

export interface ProgressListener {
  /** @param total null where nobody knows it beforehand. */
  begin(what: string, done: number, total: number | null): void;
  advance(done: number): void;
  end(): void;
}

/** Whoever runs it asked it to end. What was received is saved. */
export class StoppedError extends Error {
  override name = 'StoppedError';
}

/** Waits until a request may be made. @throws StoppedError */
export async function takeTurn({ stop, pace }: SyncContext): Promise<void> {
  try {
    await pace.turn(stop);
  } catch (error) {
    if (!stop.aborted) throw error;
  }
  if (stop.aborted) throw new StoppedError('stopped; the next run goes on from here');
}

/**
 * The client's cache for one detail at a time. The copy holds the bodies itself, so that only the tag is given and
 * taken: of an answer 304 nothing is used but that it was one.
 */
export class DetailTags {
  #asked: string | null = null;
  /** The tag of the answer; null where it had none. */
  received: string | null = null;
  /** Whether the answer was that what is held still holds. */
  isUnchanged = false;

  /** Before a detail is asked for. */
  ask(etag: string | null): void {
    this.#asked = etag;
    this.received = null;
    this.isUnchanged = false;
  }

  /** After it: what is asked for next is no detail. */
  clear(): void {
    this.#asked = null;
  }

  /** The status of each answer. */
  note(status: number): void {
    this.isUnchanged = status === 304;
  }

  /** In the place of what is held stands a record without anything: `isUnchanged` says that it is none to be stored. */
  get(): { etag: string; body: string } | undefined {
    return this.#asked === null ? undefined : { etag: this.#asked, body: '{"id":""}' };
  }

  set(_target: string, { etag }: { etag: string }): void {
    this.received = etag;
  }
}
