/**
 * A warning that is logged immediately, and then at most once per interval, so that clients cannot fill the log.
 *
 * @param write receives the number of occurrences since the last call, including this one.
 */
export function throttleWarning(intervalMs: number, write: (times: number) => void): () => void {
  let times = 0;
  let writtenAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    times += 1;
    if (performance.now() - writtenAtMs < intervalMs) return;
    writtenAtMs = performance.now();
    write(times);
    times = 0;
  };
}
