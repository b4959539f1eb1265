import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { forAllTests } from '../../test/support/lifetimes.ts';
import { createClient, UnexpectedAnswerError } from '../src/index.ts';
import { InterceptingProxy } from './support/intercepting-proxy.ts';
import { sampleServiceForAllTests } from './support/sample-service.ts';

const service = sampleServiceForAllTests();
const proxy = forAllTests(() => InterceptingProxy.start(Number(new URL(service.url).port)));

const KINDS = [
  'contracts',
  'suppliers',
  'solicitations',
  'certifications',
  'lead-entities',
  'city-services',
  'coops',
] as const;

function clientOf(url: string) {
  return createClient({ baseUrl: url, apiKey: service.partner('all').key, retry: { minDelayMs: 1 } });
}

test.each(KINDS)('a stream of %s has the records of its list, and its CSV their fields', async (kind) => {
  const client = clientOf(service.url);
  const name = kind.replace(/-(.)/, (_, letter: string) => letter.toUpperCase()) as 'coops';
  const listed = await Array.fromAsync(client[name].list({ limit: 100 }));
  const count = listed.length;
  expect(count).toBeGreaterThan(1);
  expect(await Array.fromAsync(client.stream(kind))).toEqual(listed);
  const some = Math.ceil(count / 20);
  // Of short lists, pieces of one record. The last piece has the rest, one record, or all.
  for (const limit of [some, count - 1, count])
    expect(await Array.fromAsync(client.stream(kind, { limit }))).toEqual(listed);
  const begun: unknown[] = [];
  for await (const record of client.stream(kind, { limit: 1 })) if (begun.push(record) === Math.min(count, 5)) break;
  expect(begun).toEqual(listed.slice(0, 5));
  const csv = (await Array.fromAsync(client.csv(kind, { limit: some }))).join('');
  const rows: { name?: string; title?: string }[] = parse(csv, { columns: true });
  expect(rows.map((row) => row.name ?? row.title)).toEqual(
    listed.map((record) => ('title' in record ? record.title : record.name)),
  );
});

test('a piece whose connection is reset in the middle is read again, and no record is repeated', async () => {
  const client = clientOf(proxy.url);
  const listed = await Array.fromAsync(client.contracts.list({ limit: 100 }));
  proxy.intercept((_request, index) => (index === 1 || index === 3 ? { cutAfter: 3_000 } : {}));
  const limit = Math.ceil(listed.length / 3);
  expect(await Array.fromAsync(client.stream('contracts', { limit }))).toEqual(listed);
  const targets = proxy.passed.map(({ target }) => target);
  expect(targets).toHaveLength(5);
  expect(new Set(targets).size).toBe(3);
});

test('a service that does not know streams is reported, not read as an empty list', async () => {
  const body = '{"data":[],"meta":{}}';
  const respond = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
  proxy.intercept(() => ({ respond }));
  await expect(Array.fromAsync(clientOf(proxy.url).stream('coops'))).rejects.toThrow(UnexpectedAnswerError);
});
