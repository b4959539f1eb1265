import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { createClient, memoryCache } from '../src/index.ts';
import {
  drop,
  sendError,
  sendForever,
  sendHalf,
  sendHtml,
  sendJson,
  startFaultyServer,
} from './support/faulty-server.ts';

const KEY = 'pds_test_secret_that_nobody_else_may_read';

test('a key is in the Authorization header alone: in no URL, error, cache, nor what is told or printed', async () => {
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
  ] satisfies Parameters<typeof startFaultyServer>[0][];
  const server = await startFaultyServer((response, place) => behaviours[place]?.(response));
  const told: unknown[] = [];
  const kept = memoryCache();
  const cache: typeof kept = {
    get: (path) => kept.get(path),
    set: (...given) => {
      told.push(given);
      return kept.set(...given);
    },
  };
  const onAnswer = (answer: unknown): void => void told.push(answer);
  const client = createClient({ baseUrl: server.url, apiKey: KEY, timeoutMs: 1_000, retry: false, cache, onAnswer });
  told.push(client, client.contracts.list({ q: 'fire' }), client.contracts.list().pages());
  const errors: unknown[] = [];
  while (server.received.length < behaviours.length)
    await client.health().catch((error: unknown) => errors.push(error));
  await server.close();
  expect(errors).toHaveLength(behaviours.length - 1);
  expect(server.received.map(({ authorization }) => authorization)).toEqual(behaviours.map(() => `Bearer ${KEY}`));
  const stacks = errors.map((error) => (error as Error).stack);
  const shown = [told, errors, stacks, server.received.map(({ url }) => url)].map((some) => [
    inspect(some, { depth: 12, showHidden: true }),
    JSON.stringify(some),
  ]);
  expect(shown.flat().join('\n')).toContain('/health');
  expect(shown.flat().join('\n')).not.toContain(KEY);
});
