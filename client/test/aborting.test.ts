import { describe, expect, test } from 'vitest';
import { AbortedError, createClient, memoryCache, TimeoutError, type ClientOptions } from '../src/index.ts';
import {
  faulty,
  sendError,
  sendForever,
  sendJson,
  type FaultyServer,
  type Misbehave,
} from './support/faulty-server.ts';

const client = (server: FaultyServer, options: Partial<ClientOptions> = {}): ReturnType<typeof createClient> =>
  createClient({ baseUrl: server.url, apiKey: 'key', ...options });

/** Asserts that a request was aborted, with the signal's reason as its cause. */
async function expectAborted(promise: Promise<unknown>, reason: unknown): Promise<void> {
  const error: unknown = await promise.then(
    () => expect.fail('the request succeeded'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(AbortedError);
  expect((error as AbortedError).cause).toBe(reason);
}

describe('an AbortSignal ends', () => {
  const reason = new Error('no longer needed');

  test('a request before it is sent', async () => {
    const server = await faulty((response) => sendJson(response, {}));
    await expectAborted(client(server).health({ signal: AbortSignal.abort(reason) }), reason);
    expect(server.received).toEqual([]);
  });

  test('a request while an asynchronous cache is read', async () => {
    const server = await faulty((response) => sendJson(response, {}));
    const controller = new AbortController();
    const cache = {
      ...memoryCache(),
      get: async () => {
        controller.abort(reason);
        return undefined;
      },
    };
    await expectAborted(client(server, { cache }).health({ signal: controller.signal }), reason);
    expect(server.received).toEqual([]);
  });

  test.each<[string, Misbehave]>([
    ['a request without a response', () => undefined],
    ['a partially received body', sendForever],
  ])('%s, and its connection', async (_, misbehave) => {
    const controller = new AbortController();
    const server = await faulty((response, index, request) => {
      misbehave(response, index, request);
      setImmediate(() => controller.abort(reason));
    });
    await expectAborted(client(server).contracts.get('a', { signal: controller.signal }), reason);
    await server.received[0]?.closed;
    expect(server.received).toHaveLength(1);
  });

  test('the pause before a retry', async () => {
    const controller = new AbortController();
    const server = await faulty((response) => sendError(response, 429, 'rate_limited', { 'retry-after': '60' }));
    // By then the one-minute delay before the retry has begun.
    const onAnswer = (): void => void setImmediate(() => controller.abort(reason));
    const listing = Array.fromAsync(client(server, { onAnswer }).contracts.list({}, { signal: controller.signal }));
    await expectAborted(listing, reason);
    expect(server.received).toHaveLength(1);
  });

  test('a listing between two pages', async () => {
    const server = await faulty((response, index) =>
      sendJson(response, { data: [{ id: 'a' }], meta: { next_cursor: `more_${index}`, limit: 1 } }, 200, {
        'x-sync-watermark': '2026-04-15T09:00:00.000Z',
      }),
    );
    const controller = new AbortController();
    const listing = async (): Promise<void> => {
      for await (const page of client(server).coops.list({}, { signal: controller.signal }).pages()) {
        expect(page.nextCursor).toMatch(/^more_/);
        if (server.received.length === 2) controller.abort(reason);
      }
    };
    await expectAborted(listing(), reason);
    expect(server.received).toHaveLength(2);
  });

  test('nothing else: no listener remains on a long-lived signal', async () => {
    const server = await faulty((response, index) =>
      index % 2 === 0 ? sendError(response, 500, 'internal_error') : sendJson(response, { status: 'ok' }),
    );
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    for (let i = 0; i < 3; i += 1) await client(server, { retry: { minDelayMs: 1 } }).health({ signal });
    expect(server.received).toHaveLength(6);
    expect(listeners).toBe(0);
  });
});

describe('a timeout', () => {
  test.each<[string, Misbehave]>([
    ['a request without a response', () => undefined],
    ['a request with an endless body', sendForever],
  ])('ends %s and its connection, with the time in the message', async (_, misbehave) => {
    const server = await faulty(misbehave);
    const request = client(server, { timeoutMs: 300, retry: false }).contracts.get('a');
    await expect(request).rejects.toBeInstanceOf(TimeoutError);
    await expect(request).rejects.toThrow(/300 ms/);
    expect(server.received).toHaveLength(1);
    await server.received[0]?.closed;
  });

  test('applies to each attempt, not to all retries together', async () => {
    const server = await faulty((response, index) => {
      if (index === 3) sendJson(response, { status: 'ok' });
    });
    const options = { timeoutMs: 800, retry: { minDelayMs: 1, maxDelayMs: 1 } };
    expect(await client(server, options).health()).toEqual({ status: 'ok' });
    expect(server.received).toHaveLength(4);
  });
});
