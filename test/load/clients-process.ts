import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { digestOf, type ClientsReport, type ClientsTask } from './clients.ts';

/*
 * A program that runs many clients of one partner, each on its own connection, with `pauseMs` between requests. It
 * compares each 200 with the known response to the same request. It takes its task as JSON in its argument, and prints
 * a report as JSON.
 */

const { port, key, clients, pauseMs, seconds, questions } = JSON.parse(process.argv[2] ?? '') as ClientsTask;
const endsAtMs = performance.now() + seconds * 1000;
const statuses: Record<string, number> = {};
const acceptedMs: number[] = [];
const problems = new Set<string>();
let asked = 0;
const firstSince = Date.parse('1990-01-01T00:00:00Z') + process.pid * 10_000_000;

const count = (outcome: string): void => void (statuses[outcome] = (statuses[outcome] ?? 0) + 1);

async function beClient(): Promise<void> {
  let agent = new Agent({ keepAlive: true, maxSockets: 1 });
  while (performance.now() < endsAtMs) {
    const question = questions[asked % questions.length];
    if (question === undefined) throw new Error('no question');
    asked += 1;
    // Before the first import, every timestamp gives the same response, at a URL that was never requested.
    const path = question.path.replace('{since}', new Date(firstSince + asked).toISOString());
    const startedAtMs = performance.now();
    try {
      const { status, body, headers } = await ask(agent, path);
      count(String(status));
      if (status === 200) {
        acceptedMs.push(performance.now() - startedAtMs);
        if (digestOf(body) !== question.digest) problems.add(`another answer than before: ${question.path}`);
      } else if (status === 429) {
        const { error } = JSON.parse(body) as { error: { code: string; request_id: string } };
        const isWhole =
          error.code === 'rate_limited' &&
          headers['x-request-id'] === error.request_id &&
          /^[1-9]\d*$/.test(headers['retry-after'] ?? '') &&
          headers['ratelimit'] !== undefined &&
          headers['ratelimit-policy'] !== undefined;
        if (!isWhole) problems.add(`a 429 that lacks something: ${JSON.stringify(headers)} ${body}`);
      }
    } catch (error) {
      count(String((error as NodeJS.ErrnoException).code ?? error));
      agent.destroy();
      agent = new Agent({ keepAlive: true, maxSockets: 1 });
    }
    if (pauseMs > 0) await delay(pauseMs);
  }
  agent.destroy();
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

function ask(agent: Agent, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent, headers: { authorization: `Bearer ${key}` } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode = 0, headers } = response;
        resolve({
          status: statusCode,
          headers: headers as Record<string, string>,
          body: Buffer.concat(chunks).toString(),
        });
      });
    }).on('error', reject);
  });
}

await Promise.all(Array.from({ length: clients }, beClient));
acceptedMs.sort((a, b) => a - b);
const at = (share: number): number => acceptedMs[Math.floor(acceptedMs.length * share)] ?? 0;
const report: ClientsReport = {
  statuses,
  accepted: { p50Ms: at(0.5), p99Ms: at(0.99), longestMs: acceptedMs.at(-1) ?? 0 },
  problems: [...problems].slice(0, 10),
};
process.stdout.write(JSON.stringify(report));
