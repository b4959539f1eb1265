import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../support/client.ts';
import { digestOf, type ClientsReport, type ClientsTask } from './clients.ts';

/*
 * A program that runs many clients of one partner, each on its own connection, with `pauseMs` between requests. It
 * compares each 200 with the known response to the same request. It takes its task as JSON in its argument, and prints
 * a report as JSON.
 */

const { port, key, clients, pauseMs, seconds, expected } = JSON.parse(process.argv[2] ?? '') as ClientsTask;
const endsAtMs = performance.now() + seconds * 1000;
const statuses: Record<string, number> = {};
const acceptedMs: number[] = [];
const problems = new Set<string>();
let sent = 0;
const firstSince = Date.parse('1990-01-01T00:00:00Z') + process.pid * 10_000_000;

const count = (outcome: string): void => void (statuses[outcome] = (statuses[outcome] ?? 0) + 1);

async function runClient(): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  let client = createClient(url);
  while (performance.now() < endsAtMs) {
    const request = expected[sent % expected.length];
    if (request === undefined) throw new Error('no request');
    sent += 1;
    // Before the first import, every timestamp gives the same response, at a URL that was never requested.
    const path = request.path.replace('{since}', new Date(firstSince + sent).toISOString());
    const startedAtMs = performance.now();
    try {
      const { status, body, headers } = await client.get(path, { key });
      count(String(status));
      if (status === 200) {
        acceptedMs.push(performance.now() - startedAtMs);
        if (digestOf(body) !== request.digest) problems.add(`an unexpected body for ${request.path}`);
      } else if (status === 429) {
        const { error } = JSON.parse(body) as { error: { code: string; request_id: string } };
        const isComplete =
          error.code === 'rate_limited' &&
          headers['x-request-id'] === error.request_id &&
          /^[1-9]\d*$/.test(headers['retry-after'] ?? '') &&
          headers['ratelimit'] !== undefined &&
          headers['ratelimit-policy'] !== undefined;
        if (!isComplete) problems.add(`an incomplete 429: ${JSON.stringify(headers)} ${body}`);
      }
    } catch (error) {
      count(String((error as NodeJS.ErrnoException).code ?? error));
      client.close();
      client = createClient(url);
    }
    if (pauseMs > 0) await delay(pauseMs);
  }
  client.close();
}

await Promise.all(Array.from({ length: clients }, runClient));
acceptedMs.sort((a, b) => a - b);
const percentile = (share: number): number => acceptedMs[Math.floor(acceptedMs.length * share)] ?? 0;
const report: ClientsReport = {
  statuses,
  accepted: { p50Ms: percentile(0.5), p99Ms: percentile(0.99), longestMs: acceptedMs.at(-1) ?? 0 },
  problems: [...problems].slice(0, 10),
};
process.stdout.write(JSON.stringify(report));
