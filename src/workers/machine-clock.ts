const STARTED_AT_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/**
 * Monotonic milliseconds on a time base shared by all processes of a machine, so that a window ends for all of them at
 * the same time. `performance.now()` starts at zero in each process, and the wall clock can be set back.
 */
export function machineNowMs(): number {
  return STARTED_AT_MS + performance.now();
}
