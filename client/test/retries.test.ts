import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
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
  faulty,
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
const TRANSIENT: Readonly<Record<string, Fault>> = {
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
  'an endless body': [sendForever, TimeoutError],
  'no response': [() => undefined, TimeoutError],
};

/** Longer than a successful response takes on a busy machine. */
const PATIENCE_MS = 1_000;

const QUICK = { minDelayMs: 1, maxDelayMs: 4 };

async function list(server: FaultyServer, options: Partial<ClientOptions>): Promise<unknown> {
  const client = createClient({ baseUrl: server.url, apiKey: 'key', ...options });
  return Array.fromAsync(client.contracts.list());
}

describe('a transient failure is retried', () => {
  test.each(Object.entries({ ...TRANSIENT, ...SILENT }))('after %s', async (name, [misbehave]) => {
    const server = await faulty((response, index, request) =>
      index === 0 ? misbehave(response, index, request) : sendList(response, [{ id: 'a' }]),
    );
    expect(await list(server, { retry: QUICK, ...(name in SILENT && { timeoutMs: PATIENCE_MS }) })).toEqual([
      { id: 'a' },
    ]);
    expect(server.received).toHaveLength(2);
  });

  test('up to the configured number of times, and then thrown', async () => {
    const faults = fc.array(fc.constantFrom(...Object.keys(TRANSIENT)), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(faults, fc.nat(4), async (names, retries) => {
        const server = await startFaultyServer((response, index, request) => {
          const [misbehave] = TRANSIENT[names[index] ?? ''] ?? [];
          if (misbehave === undefined) sendList(response, []);
          else misbehave(response, index, request);
        });
        try {
          const outcome = await list(server, { retry: { ...QUICK, retries } }).catch((e: unknown) => e);
          expect(server.received).toHaveLength(Math.min(names.length, retries) + 1);
          const [, thrown] = TRANSIENT[names[retries] ?? ''] ?? [];
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
    const server = await faulty((response) => sendError(response, status, 'some_code'));
    await expect(list(server, { retry: QUICK })).rejects.toMatchObject({ status });
    expect(server.received).toHaveLength(1);
  });

  test('but not if retries are disabled', async () => {
    const server = await faulty((response) => sendError(response, 500, 'internal_error'));
    await expect(list(server, { retry: false })).rejects.toBeInstanceOf(InternalServerError);
    expect(server.received).toHaveLength(1);
  });

  test('with defaults for undefined options', async () => {
    const server = await faulty(drop);
    const retry = { ...QUICK, retries: undefined } as never;
    await expect(list(server, { retry })).rejects.toBeInstanceOf(ConnectionError);
    expect(server.received).toHaveLength(1 + DEFAULT_RETRIES.retries);
  });
});

describe('Retry-After', () => {
  test.each([
    ['in seconds', () => '1'],
    ['as a date', () => new Date(Date.now() + 2_000).toUTCString()],
  ])('%s is waited for', async (_, value) => {
    let retryAtMs = 0;
    const server = await faulty((response, index) => {
      if (index > 0) {
        sendList(response, []);
        return;
      }
      const retryAfter = value();
      const waitMs = retryAfter === '1' ? 1_000 : Date.parse(retryAfter) - Date.now();
      retryAtMs = performance.now() + waitMs;
      sendError(response, 429, 'rate_limited', { 'retry-after': retryAfter });
    });
    await list(server, { retry: QUICK });
    // Timers can fire a millisecond early.
    expect(server.received[1]?.atMs).toBeGreaterThanOrEqual(retryAtMs - 1);
  });

  test('beyond the configured maximum is not waited for, and reported in the error', async () => {
    const server = await faulty((response) => sendError(response, 429, 'rate_limited', { 'retry-after': '91' }));
    await expect(list(server, {})).rejects.toMatchObject({ name: 'RateLimitedError', retryAfterSeconds: 91 });
    expect(server.received).toHaveLength(1);
  });

  test('is read in seconds or as a date, never below 0, and ignored if malformed', () => {
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

test('pauses are random within a doubling bound, at least Retry-After, and end with the retries', () => {
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

test('RateLimit headers are read as the service sends them, and incomplete ones are ignored', () => {
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
