import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { createClient, memoryCache } from '../src/index.ts';
import {
  drop,
  faulty,
  sendError,
  sendForever,
  sendHalf,
  sendHtml,
  sendJson,
  type Misbehave,
} from './support/faulty-server.ts';

const KEY = 'pds_test_secret_that_nobody_else_may_read';

test('the key is sent in the Authorization header only: it is in no URL, error, cache, callback or printed value', async () => {
  const behaviours = [
    drop,
    sendHalf,
    sendForever,
    (response) => sendHtml(response, 200),
    (response) => sendHtml(response, 403),
    (response) => sendError(response, 401, 'unauthorized'),
    (response) => sendError(response, 500, 'internal_error'),
    (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    (response) => sendJson(response, { status: 'ok' }, 200, { etag: '"1"' }),
  ] satisfies Misbehave[];
  const server = await faulty((response, index) => behaviours[index]?.(response));
  const seen: unknown[] = [];
  const memory = memoryCache();
  const cache: typeof memory = {
    get: (path) => memory.get(path),
    set: (...args) => {
      seen.push(args);
      return memory.set(...args);
    },
  };
  const onAnswer = (response: unknown): void => void seen.push(response);
  const client = createClient({ baseUrl: server.url, apiKey: KEY, timeoutMs: 1_000, retry: false, cache, onAnswer });
  seen.push(client, client.contracts.list({ q: 'fire' }), client.contracts.list().pages());
  const errors: unknown[] = [];
  while (server.received.length < behaviours.length)
    await client.health().catch((error: unknown) => errors.push(error));
  expect(errors).toHaveLength(behaviours.length - 1);
  expect(server.received.map(({ authorization }) => authorization)).toEqual(behaviours.map(() => `Bearer ${KEY}`));
  const stacks = errors.map((error) => (error as Error).stack);
  const outputs = [seen, errors, stacks, server.received.map(({ url }) => url)].map((some) => [
    inspect(some, { depth: 12, showHidden: true }),
    JSON.stringify(some),
  ]);
  expect(outputs.flat().join('\n')).toContain('/health');
  expect(outputs.flat().join('\n')).not.toContain(KEY);
});
