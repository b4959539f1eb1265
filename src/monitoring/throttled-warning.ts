/**
 * A warning that is written at once, and again only after a while: what a client causes must not fill the log.
 *
 * @param write is passed how often it happened since the last time it was written, this time included.
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
