import type { Transport } from '../transport.ts';
import type { Store } from './store.ts';

/** The callbacks, signals and clock that a mirror runs with. */
export interface SyncRuntime {
  /** Graceful stop: no further requests are sent, but the one in flight is still used. */
  readonly stop: AbortSignal;
  /** Aborts the request in flight. */
  readonly abort: AbortSignal;
  /** Milliseconds since 1970. Decides what is open; never what changed. */
  readonly clock: () => number;
  /** Told how many changes were received so far, and null at the end. */
  readonly onProgress: (received: number | null) => void;
  /** Shows the operator a one-sentence notice. */
  readonly notify: (message: string) => void;
}

/** The dependencies shared by all steps of a sync. */
export interface SyncContext extends SyncRuntime {
  readonly transport: Transport;
  readonly store: Store;
}

/** The operator stopped the mirror. Everything received so far is saved. */
export class StoppedError extends Error {
  override name = 'StoppedError';
}

/** Call before each request. @throws StoppedError */
export function checkStopped({ stop }: SyncContext): void {
  if (stop.aborted) throw new StoppedError('stopped; the next run continues from here');
}
