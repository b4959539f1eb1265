const INTERVAL_MS = 10_000;

/**
 * A warning that is logged immediately, and then at most every ten seconds, so that clients cannot fill the log. `write`
 * receives the number of occurrences since the last call, including this one.
 */
export function throttleWarning(write: (times: number) => void): () => void {
  let times = 0;
  let writtenAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    times += 1;
    if (performance.now() - writtenAtMs < INTERVAL_MS) return;
    writtenAtMs = performance.now();
    write(times);
    times = 0;
  };
}
