const STARTED_AT_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/**
 * Milliseconds since some moment that is the same for all processes of this machine: a window
 * has to end for all of them at once. `performance.now()` begins anew in each process, and the
 * time of day may be set back.
 */
export function machineNowMs(): number {
  return STARTED_AT_MS + performance.now();
}
