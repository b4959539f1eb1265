import { Agent, request } from 'node:http';
import { json } from 'node:stream/consumers';
import type { HttpRequest } from './load.ts';
import type { Latencies, OneAtATimeOptions } from './one-at-a-time.ts';

/* A program: reads what to ask from standard input, and prints how long each answer took as JSON. */

const { port, headers, requests } = (await json(process.stdin)) as OneAtATimeOptions;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const latencies: Latencies = { milliseconds: [], failures: 0 };

for (const one of requests) {
  const startedAt = performance.now();
  const status = await ask(one);
  latencies.milliseconds.push(performance.now() - startedAt);
  if (status < 200 || status >= 400) latencies.failures++;
}
agent.destroy();
process.stdout.write(JSON.stringify(latencies));

function ask({ path, body }: HttpRequest): Promise<number> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const sent = request({ agent, port, host: '127.0.0.1', path, method, headers }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.once('error', reject).end(body);
  });
}
