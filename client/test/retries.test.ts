import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  ConnectionError,
  createClient,
  InternalServerError,
  RateLimitedError,
  TimeoutError,
  UnexpectedAnswerError,
  type ClientOptions,
} from '../src/index.ts';
import { readRateLimit, readRetryAfter } from '../src/rate-limit.ts';
import { DEFAULT_RETRIES, pauseBefore } from '../src/retries.ts';
import {
  drop,
  sendError,
  sendForever,
  sendHalf,
  sendHtml,
  sendList,
  startFaultyServer,
  type FaultyServer,
  type Misbehave,
} from './support/faulty-server.ts';

type Fault = [Misbehave, new (...given: never[]) => Error];

/** Transient failures: how to cause each, and the error thrown if it persists. */
const PASSING: Readonly<Record<string, Fault>> = {
  'a dropped connection': [drop, ConnectionError],
  'half a body': [sendHalf, ConnectionError],
  '429': [(response) => sendError(response, 429, 'rate_limited', { 'retry-after': '0' }), RateLimitedError],
  '429 of a proxy': [(response) => sendHtml(response, 429), UnexpectedAnswerError],
  '500': [(response) => sendError(response, 500, 'internal_error'), InternalServerError],
  '502': [(response) => sendHtml(response, 502), UnexpectedAnswerError],
  '503': [(response) => sendHtml(response, 503), UnexpectedAnswerError],
  '504': [(response) => sendHtml(response, 504), UnexpectedAnswerError],
};

/** Transient failures that only a timeout detects. */
const SILENT: Readonly<Record<string, Fault>> = {
  'a body that does not end': [sendForever, TimeoutError],
  'no answer': [() => undefined, TimeoutError],
};

/** Longer than a successful response takes on a busy machine. */
const PATIENCE_MS = 1_000;

const QUICK = { minDelayMs: 1, maxDelayMs: 4 };

async function start(misbehave: Misbehave): Promise<FaultyServer> {
  const server = await startFaultyServer(misbehave);
  onTestFinished(() => server.close());
  return server;
}

async function ask(server: FaultyServer, options: Partial<ClientOptions>): Promise<unknown> {
  const client = createClient({ baseUrl: server.url, apiKey: 'key', ...options });
  return Array.fromAsync(client.contracts.list());
}

describe('what may pass is asked for again', () => {
  test.each(Object.entries({ ...PASSING, ...SILENT }))('after %s', async (name, [misbehave]) => {
    const server = await start((response, place, request) =>
      place === 0 ? misbehave(response, place, request) : sendList(response, [{ id: 'a' }]),
    );
    expect(await ask(server, { retry: QUICK, ...(name in SILENT && { timeoutMs: PATIENCE_MS }) })).toEqual([
      { id: 'a' },
    ]);
    expect(server.received).toHaveLength(2);
  });

  test('as often as was allowed, and the last failure is thrown', async () => {
    const faults = fc.array(fc.constantFrom(...Object.keys(PASSING)), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(faults, fc.nat(4), async (names, retries) => {
        const server = await startFaultyServer((response, place, request) => {
          const [misbehave] = PASSING[names[place] ?? ''] ?? [];
          if (misbehave === undefined) sendList(response, []);
          else misbehave(response, place, request);
        });
        try {
          const outcome = await ask(server, { retry: { ...QUICK, retries } }).catch((e: unknown) => e);
          expect(server.received).toHaveLength(Math.min(names.length, retries) + 1);
          const [, thrown] = PASSING[names[retries] ?? ''] ?? [];
          if (thrown === undefined) expect(outcome).toEqual([]);
          else expect(outcome).toBeInstanceOf(thrown);
        } finally {
          await server.close();
        }
      }),
      { numRuns: 50 },
    );
  });

  test.each([400, 401, 403, 404, 405, 410])('but never after %i', async (status) => {
    const server = await start((response) => sendError(response, status, 'some_code'));
    await expect(ask(server, { retry: QUICK })).rejects.toMatchObject({ status });
    expect(server.received).toHaveLength(1);
  });

  test('and not at all where retries are switched off', async () => {
    const server = await start((response) => sendError(response, 500, 'internal_error'));
    await expect(ask(server, { retry: false })).rejects.toBeInstanceOf(InternalServerError);
    expect(server.received).toHaveLength(1);
  });

  test('as often as by default where an option is undefined', async () => {
    const server = await start(drop);
    const retry = { ...QUICK, retries: undefined } as never;
    await expect(ask(server, { retry })).rejects.toBeInstanceOf(ConnectionError);
    expect(server.received).toHaveLength(1 + DEFAULT_RETRIES.retries);
  });
});

describe('Retry-After', () => {
  test.each([
    ['in seconds', () => '1'],
    ['as a date', () => new Date(Date.now() + 2_000).toUTCString()],
  ])('%s is waited for', async (_, value) => {
    let mayAskAtMs = 0;
    const server = await start((response, place) => {
      if (place > 0) {
        sendList(response, []);
        return;
      }
      const retryAfter = value();
      const waitMs = retryAfter === '1' ? 1_000 : Date.parse(retryAfter) - Date.now();
      mayAskAtMs = performance.now() + waitMs;
      sendError(response, 429, 'rate_limited', { 'retry-after': retryAfter });
    });
    await ask(server, { retry: QUICK });
    // Timers can fire a millisecond early.
    expect(server.received[1]?.atMs).toBeGreaterThanOrEqual(mayAskAtMs - 1);
  });

  test('that is longer than was allowed is not waited for: the error tells it', async () => {
    const server = await start((response) => sendError(response, 429, 'rate_limited', { 'retry-after': '91' }));
    await expect(ask(server, {})).rejects.toMatchObject({ name: 'RateLimitedError', retryAfterSeconds: 91 });
    expect(server.received).toHaveLength(1);
  });

  test('is read in seconds and as a date, never as less than 0; what is neither is none', () => {
    const read = (value: string, nowMs = 0): number | null =>
      readRetryAfter(new Headers({ 'retry-after': value }), nowMs);
    fc.assert(
      fc.property(fc.nat(), fc.nat(10_000_000), (seconds, now) => {
        expect(read(String(seconds))).toBe(seconds);
        const date = new Date(seconds * 1_000).toUTCString();
        expect(read(date, now * 1_000)).toBe(Math.max(0, seconds - now));
      }),
    );
    for (const value of ['', '-5', '1.5', '0x10', '2026-11-21', 'soon', 'Infinity', '1e3'])
      expect([value, read(value)]).toEqual([value, null]);
    expect(readRetryAfter(new Headers(), 0)).toBeNull();
  });
});

test('pauses are random up to a bound that doubles, never less than Retry-After, and end with the retries', () => {
  const options = fc.record({
    retries: fc.nat(50),
    minDelayMs: fc.nat(5_000),
    maxDelayMs: fc.nat(60_000),
    longestRetryAfterMs: fc.nat(120_000),
  });
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const retryAfter = fc.option(fc.nat(200_000));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), retryAfter, options, random, (retry, retryAfterMs, given, drawn) => {
      const pauseMs = pauseBefore(retry, retryAfterMs, given, () => drawn);
      if (retry > given.retries || (retryAfterMs ?? 0) > given.longestRetryAfterMs) {
        expect(pauseMs).toBeNull();
      } else if (retryAfterMs === null) {
        expect(pauseMs).toBe(drawn * Math.min(given.maxDelayMs, given.minDelayMs * 2 ** (retry - 1)));
      } else {
        expect(pauseMs).toBeGreaterThanOrEqual(retryAfterMs);
        expect(pauseMs).toBeLessThanOrEqual(retryAfterMs + given.minDelayMs);
      }
    }),
  );
});

test('RateLimit headers are read as the service writes them; without one of them there is no limit to tell', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.nat(), fc.nat(), (quota, windowSeconds, remaining, resetSeconds) => {
      const policy = { 'ratelimit-policy': `"partner";q=${quota};w=${windowSeconds}` };
      const state = { ratelimit: `"partner";r=${remaining};t=${resetSeconds}` };
      const limit = { quota, windowSeconds, remaining, resetSeconds };
      expect(readRateLimit(new Headers({ ...policy, ...state }))).toEqual(limit);
      expect(readRateLimit(new Headers(policy))).toBeNull();
      expect(readRateLimit(new Headers(state))).toBeNull();
      const others = { 'ratelimit-policy': `${policy['ratelimit-policy']}, "other";q=1;w=1` };
      expect(readRateLimit(new Headers({ ...others, ratelimit: `${state.ratelimit}, "other";r=0;t=9` }))).toEqual(
        limit,
      );
    }),
  );
});
