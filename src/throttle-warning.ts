/**
 * A warning that is logged immediately, and then at most once per interval, so that clients cannot fill the log. `write`
 * receives the number of occurrences since the last call, including this one, and this one's details.
 */
export function throttleWarning<Details extends unknown[]>(
  intervalMs: number,
  write: (times: number, ...details: Details) => void,
): (...details: Details) => void {
  let times = 0;
  let writtenAtMs = Number.NEGATIVE_INFINITY;
  return (...details) => {
    times += 1;
    if (performance.now() - writtenAtMs < intervalMs) return;
    writtenAtMs = performance.now();
    write(times, ...details);
    times = 0;
  };
}
