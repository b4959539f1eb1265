import type { OpenDatabase } from '../database/database.ts';

/** Each failed attempt met a new publication or a lagging replica, so ten in a row do not happen by chance. */
export const MAX_ATTEMPTS = 10;

/** Two statements saw different catalog states. */
export class OtherStateError extends Error {}

/**
 * Repeats `work` until all its statements saw the same catalog state.
 *
 * @param forget drops what was cached of the old state, before the next attempt.
 * @param work throws OtherStateError if two of its statements saw different states.
 * @throws Error after `MAX_ATTEMPTS`.
 */
export async function inOneState<T>(database: OpenDatabase, forget: () => void, work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    // The first failure is a publication in between; a second one means that one of two servers lags behind.
    if (attempt > 1) database.bypassReplicas();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OtherStateError)) throw error;
      forget();
    }
  }
  throw new Error(`no result in one catalog state after ${MAX_ATTEMPTS} attempts`);
}
