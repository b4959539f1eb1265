import { Agent, request } from 'node:http';
import { json } from 'node:stream/consumers';
import type { HttpRequest } from './load.ts';
import type { OneAtATimeOptions, TimedResponse } from './one-at-a-time.ts';

/* Program: reads requests from standard input, sends them one at a time, and prints each response time as JSON. */

const options = (await json(process.stdin)) as OneAtATimeOptions;
const { port, headers, requests, withNextPages = false, holdPort = null } = options;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const responses: TimedResponse[] = [];

await readHold();
for (const one of requests) {
  const body = await measure(one, one.path);
  if (!withNextPages || body === '') continue;
  const cursor = /"next_cursor":"([^"]+)"/.exec(body)?.[1];
  if (cursor === undefined) continue;
  const path = `${one.path}${one.path.includes('?') ? '&' : '?'}cursor=${cursor}`;
  await measure({ path }, `${one.path} (next page)`);
}
agent.destroy();
process.stdout.write(JSON.stringify(responses));

async function measure(one: HttpRequest, name: string): Promise<string> {
  const startedAt = performance.now();
  const { status, body } = await send(one, port, headers, withNextPages);
  const milliseconds = performance.now() - startedAt;
  responses.push({ request: name, status, milliseconds, holdMs: await readHold() });
  return body;
}

/** Reads the longest event-loop hold of the server since the previous read. */
async function readHold(): Promise<number | null> {
  return holdPort === null ? null : Number((await send({ path: '/' }, holdPort, {}, true)).body);
}

function send(
  { path, body }: HttpRequest,
  toPort: number,
  withHeaders: Readonly<Record<string, string>>,
  isBodyRead: boolean,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const options = { agent, port: toPort, host: '127.0.0.1', path, method, headers: withHeaders };
    const sent = request(options, (response) => {
      const chunks: Buffer[] = [];
      if (isBodyRead) response.on('data', (chunk: Buffer) => chunks.push(chunk));
      else response.resume();
      response.once('end', () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() });
      });
    });
    sent.once('error', reject).end(body);
  });
}
