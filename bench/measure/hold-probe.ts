import { createServer } from 'node:http';

/*
 * Loaded into the service with `--import`. Measures how long each iteration of its event loop takes, and responds to
 * every request with the longest since the previous request, in milliseconds.
 *
 * A `setImmediate` is always pending, so the loop never waits, and the time between two callbacks is one iteration.
 * Node's `monitorEventLoopDelay` is unsuitable: its per-iteration samples leave out socket callbacks, and its timer
 * adds up to its own interval of a millisecond or more.
 */

let longestMs = 0;
let beganAtMs = performance.now();
let isStopping = false;

process.once('SIGTERM', () => (isStopping = true));
setImmediate(measureIteration);
createServer((_, response) => {
  response.end(String(longestMs));
  longestMs = 0;
})
  .listen(Number(process.env['BENCH_HOLD_PORT']), '127.0.0.1')
  .unref();

function measureIteration(): void {
  const nowMs = performance.now();
  longestMs = Math.max(longestMs, nowMs - beganAtMs);
  beganAtMs = nowMs;
  if (!isStopping) setImmediate(measureIteration);
}
