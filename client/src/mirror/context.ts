import type { Transport } from '../transport.ts';
import type { Store } from './store.ts';

/** The dependencies shared by all steps of a sync. */
export interface SyncContext {
  readonly transport: Transport;
  readonly store: Store;
  /** Milliseconds since 1970. Decides what is open; never what changed. */
  readonly clock: () => number;
  /** Graceful stop: no further requests are sent, but the one in flight is still used. */
  readonly stop: AbortSignal;
  /** Aborts the request in flight. */
  readonly abort: AbortSignal;
  readonly progress: ProgressListener;
  /** Shows the operator a one-sentence notice. */
  readonly tell: (message: string) => void;
}

export interface ProgressListener {
  /** @param done changes received so far. */
  advance(done: number): void;
  end(): void;
}

/** The operator stopped the mirror. Everything received so far is saved. */
export class StoppedError extends Error {
  override name = 'StoppedError';
}

/** Call before each request. @throws StoppedError */
export function checkStopped({ stop }: SyncContext): void {
  if (stop.aborted) throw new StoppedError('stopped; the next run continues from here');
}
