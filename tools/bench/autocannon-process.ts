import autocannon, { type Client, type Options, type Request, type Result } from 'autocannon';
import { json } from 'node:stream/consumers';
import type { HttpRequest, LoadOptions, LoadResult } from '../../bench/load/load.ts';

/* Program: reads requests from standard input, sends them, and prints the result as JSON. */

const { port, headers, requests, isRepeated, connections, seconds } = (await json(process.stdin)) as LoadOptions;

// Each connection sends its own share of the list, so that no request is sent twice.
let made = 0;
const shares = Array.from({ length: connections }, (_, connection) =>
  requests.filter((__, index) => isRepeated || index % connections === connection),
).filter((share) => share.length > 0);

const { promise: finished, resolve, reject } = Promise.withResolvers<Result>();
const options: Options = {
  url: `http://127.0.0.1:${port}`,
  connections: shares.length,
  duration: seconds,
  timeout: 30,
  headers,
  setupClient: (client: Client) => client.setRequests((shares[made++ % shares.length] ?? []).map(requestOf)),
};
const running = autocannon(options, (error, outcome) => (error === null ? resolve(outcome) : reject(error as Error)));
if (!isRepeated) stopAfter(requests.length);
const result = await finished;

const failures = result.errors + result.timeouts + result['4xx'] + result['5xx'];
const output: LoadResult = {
  requests: result.requests.total,
  seconds: result.duration,
  failures,
  isExhausted: !isRepeated && result.requests.total >= requests.length - connections,
  bytes: result.throughput.total,
  p50Ms: result.latency.p50,
  p99Ms: result.latency.p99,
};
process.stdout.write(JSON.stringify(output));

/** Stops the load before any connection starts its list again. */
function stopAfter(most: number): void {
  let answered = 0;
  running.on('response', () => {
    answered++;
    if (answered === most - connections) running.stop();
  });
}

function requestOf({ path, body }: HttpRequest): Request {
  return body === undefined ? { path } : { path, method: 'POST', body };
}
