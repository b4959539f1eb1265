import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { request } from 'node:http';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestService } from '../../test/support/service.ts';
import { createClient, UnexpectedAnswerError } from '../src/index.ts';
import { startSampleService } from './support/sample-service.ts';

let service: TestService;
let proxy: Server;
/** Answers a request in place of the service; undefined lets it through. */
let intercept: (response: ServerResponse, upstream: IncomingMessage) => boolean = () => false;

const KINDS = [
  'contracts',
  'suppliers',
  'solicitations',
  'certifications',
  'lead-entities',
  'city-services',
  'coops',
] as const;

beforeAll(async () => {
  service = await startSampleService();
  proxy = createServer((incoming, response) => {
    request(service.url + (incoming.url ?? ''), { headers: incoming.headers }, (upstream) => {
      if (intercept(response, upstream)) return;
      response.writeHead(upstream.statusCode ?? 500, upstream.headers);
      pipeline(upstream, response, () => undefined);
    }).end();
  }).listen(0, '127.0.0.1');
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await service.close();
});

function clientOf(url = service.url) {
  const answers: string[] = [];
  const client = createClient({
    baseUrl: url,
    apiKey: service.partner('all').key,
    retry: { minDelayMs: 1 },
    onAnswer: ({ path, status }) => answers.push(`${status} ${path.includes('cursor') ? 'next' : 'first'}`),
  });
  return { client, answers };
}

test.each(KINDS)('a stream of %s has the records of its list, and its CSV their fields', async (kind) => {
  const { client } = clientOf();
  const name = kind.replace(/-(.)/, (_, letter: string) => letter.toUpperCase()) as 'coops';
  const listed = await Array.fromAsync(client[name].list({ limit: 100 }));
  expect(listed.length).toBeGreaterThan(1);
  expect(await Array.fromAsync(client.stream(kind))).toEqual(listed);
  expect(await Array.fromAsync(client.stream(kind, { limit: 1 }))).toEqual(listed);
  const csv = (await Array.fromAsync(client.csv(kind, { limit: 2 }))).join('');
  const rows: { name?: string; title?: string }[] = parse(csv, { columns: true });
  expect(rows.map((row) => row.name ?? row.title)).toEqual(
    listed.map((record) => ('title' in record ? record.title : record.name)),
  );
});

test('a piece whose connection is reset in the middle is read again, and no record is repeated', async () => {
  const { client, answers } = clientOf(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  const listed = await Array.fromAsync(client.contracts.list({ limit: 100 }));
  let pieces = 0;
  intercept = (response, upstream) => {
    pieces += 1;
    if (pieces !== 2 && pieces !== 4) return false;
    response.writeHead(200, upstream.headers);
    upstream.once('data', (chunk: Buffer) => response.write(chunk.subarray(0, 100), () => response.destroy()));
    return true;
  };
  answers.length = 0;
  const limit = Math.ceil(listed.length / 3);
  expect(await Array.fromAsync(client.stream('contracts', { limit }))).toEqual(listed);
  expect(answers).toEqual(['200 first', '200 next', '200 next']);
  expect(pieces).toBe(5);
  intercept = () => false;
});

test('a service that does not know streams is reported, not read as an empty list', async () => {
  const { client } = clientOf(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  intercept = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[],"meta":{}}');
    return true;
  };
  await expect(Array.fromAsync(client.stream('coops'))).rejects.toThrow(UnexpectedAnswerError);
  intercept = () => false;
});
