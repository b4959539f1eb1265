import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { apiErrorOf } from '../src/transport.ts';
import {
  ApiError,
  createClient,
  ConnectionError,
  ForbiddenError,
  InternalServerError,
  NotFoundError,
  PartnerDataError,
  RateLimitedError,
  UnauthorizedError,
  UnexpectedAnswerError,
  ValidationFailedError,
  type Client,
} from '../src/index.ts';
import {
  clientOfFaulty,
  faulty,
  sendError,
  sendHtml,
  sendJson,
  startFaultyServer,
  type Misbehave,
} from './support/faulty-server.ts';
import { sampleServiceForAllTests } from './support/sample-service.ts';

/** Returns the reason a promise was rejected with. */
function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => expect.fail(`resolved with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
}

describe('each error code has a class, with status, code, message and request id:', () => {
  const service = sampleServiceForAllTests();

  const clientOf = (partner: string): Client =>
    createClient({ baseUrl: service.url, apiKey: service.partner(partner).key, retry: false });

  /** Asserts the class of an error, which is also its name, and its message. */
  async function expectRefusal(
    promise: Promise<unknown>,
    kind: new (...args: never[]) => ApiError,
    status: number,
    code: string,
    message = /./,
  ): Promise<void> {
    const error = await refusal(promise);
    expect(error).toBeInstanceOf(kind);
    expect(error).toBeInstanceOf(PartnerDataError);
    expect(error).toMatchObject({ name: kind.name, status, code, requestId: expect.stringMatching(/^req_/) as string });
    expect((error as Error).message).toMatch(message);
  }

  test('400 for a parameter that the service rejects', async () => {
    const listing = Array.fromAsync(clientOf('all').contracts.list({ limit: 1_000 }));
    await expectRefusal(listing, ValidationFailedError, 400, 'validation_failed', /limit/);
  });

  test('401 for an invalid key', async () => {
    const client = createClient({ baseUrl: service.url, apiKey: 'pds_test_wrong' });
    await expectRefusal(client.contracts.get('x'), UnauthorizedError, 401, 'unauthorized', /key/i);
  });

  test('403 for a kind of record that the partner cannot read', async () => {
    const listing = Array.fromAsync(clientOf('suppliers-only').contracts.list());
    await expectRefusal(listing, ForbiddenError, 403, 'forbidden');
  });

  test('404 for any id without a record', async () => {
    const client = clientOf('all');
    const real = 'sup_pa_swank_construction_company_llc_1949';
    const ids = fc.oneof(
      fc.constantFrom('', '.', '..', '../coops', `${real}#`, `${real}?`, 'a/b', '%', '?', '#', '\0', '\ud800'),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(ids, async (id) => {
        const error = await refusal(client.suppliers.get(id));
        // The service rejects a path that contains NUL or is too long with `validation_failed`.
        expect(error).toBeInstanceOf(ApiError);
        expect(['not_found', 'validation_failed']).toContain((error as ApiError).code);
      }),
      { numRuns: 100 },
    );
    await expectRefusal(client.solicitations.get(999_999_999), NotFoundError, 404, 'not_found');
  });

  test('429 with the seconds to wait', async () => {
    const client = clientOf('rare');
    await client.solicitations.count();
    await client.solicitations.count();
    const error = await refusal(client.solicitations.count());
    expect(error).toBeInstanceOf(RateLimitedError);
    const { status, code, retryAfterSeconds } = error as RateLimitedError;
    expect({ status, code }).toEqual({ status: 429, code: 'rate_limited' });
    expect(retryAfterSeconds).toBeGreaterThan(0);
    expect(retryAfterSeconds).toBeLessThanOrEqual(60);
  });

  test('UnexpectedAnswerError if an id leads to the response of another path', async () => {
    expect(await refusal(clientOf('all').solicitations.get('count'))).toBeInstanceOf(UnexpectedAnswerError);
  });
});

describe('a faulty response', () => {
  test('with status 500 becomes an InternalServerError', async () => {
    const client = await clientOfFaulty((response) => sendError(response, 500, 'internal_error'));
    const error = await refusal(client.health());
    expect(error).toBeInstanceOf(InternalServerError);
    expect(error).toMatchObject({ status: 500, requestId: 'req_test', message: 'This is internal_error.' });
  });

  test('with an unknown code becomes an ApiError', async () => {
    const error = await refusal((await clientOfFaulty((response) => sendError(response, 410, 'gone'))).health());
    expect((error as Error).constructor).toBe(ApiError);
    expect(error).toMatchObject({ name: 'ApiError', status: 410, code: 'gone' });
  });

  test('with any code becomes an ApiError with that code', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.constantFrom('toString', '__proto__', 'constructor')), (code) => {
        const error = apiErrorOf({ status: 400, code, message: 'why', requestId: null }, null);
        expect(error).toBeInstanceOf(ApiError);
        expect(error.code).toBe(code);
      }),
    );
  });

  test.each<[string, Misbehave]>([
    ["a proxy's page with 200", (response) => sendHtml(response, 200)],
    ["a proxy's page with 404", (response) => sendHtml(response, 404)],
    ['JSON that is not an object', (response) => response.end('null')],
    ['JSON that is not a list', (response) => sendJson(response, { data: {} }, 200, { 'x-sync-watermark': 'now' })],
    [
      'a list without a cursor',
      (response) => sendJson(response, { data: [], meta: { limit: 1 } }, 200, { 'x-sync-watermark': 'now' }),
    ],
    [
      'a list without its watermark',
      (response) => sendJson(response, { data: [], meta: { next_cursor: null, limit: 1 } }),
    ],
    ['an error in another format', (response) => sendJson(response, { error: 'no' }, 400)],
    ['304 without a cached response', (response) => response.writeHead(304).end()],
  ])('%s becomes an UnexpectedAnswerError', async (_, misbehave) => {
    const client = await clientOfFaulty(misbehave);
    const error = await refusal(Array.fromAsync(client.contracts.list()));
    expect(error).toBeInstanceOf(UnexpectedAnswerError);
    expect((error as Error).message).toMatch(/^\/v1\/contracts: /);
  });

  test('that is a redirect is not followed, so the key goes to no other host', async () => {
    const other = await faulty((response) => sendJson(response, { status: 'ok' }));
    const client = await clientOfFaulty((response) => response.writeHead(302, { location: other.url }).end());
    const error = await refusal(client.health());
    expect(error).toBeInstanceOf(UnexpectedAnswerError);
    expect((error as Error).message).toContain('correct baseUrl');
    expect(other.received).toEqual([]);
  });

  test('that never arrives becomes a ConnectionError with its cause', async () => {
    const server = await startFaultyServer(() => undefined);
    await server.close();
    const client = createClient({ baseUrl: server.url, apiKey: 'key', retry: false });
    const error = await refusal(client.health());
    expect(error).toBeInstanceOf(ConnectionError);
    expect((error as Error).message).toContain(server.url);
    expect((error as Error).cause).toBeInstanceOf(Error);
  });
});

describe('invalid options throw a TypeError immediately', () => {
  test.each<[string, Record<string, unknown>]>([
    ['baseUrl', { baseUrl: 'api.example.com' }],
    ['baseUrl', { baseUrl: 'file:///etc' }],
    ['baseUrl', { baseUrl: 'https://me:secret@api.example.com' }],
    ['baseUrl', { baseUrl: 'https://api.example.com/?key=secret' }],
    ['apiKey', { apiKey: undefined }],
    ['apiKey', { apiKey: '' }],
    ['apiKey', { apiKey: 'secret\n' }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['timeoutMs', { timeoutMs: 2 ** 31 }],
    ['retry.retries', { retry: { retries: 1.5 } }],
    ['retry.retries', { retry: { retries: Infinity } }],
    ['retry.minDelayMs', { retry: { minDelayMs: NaN } }],
    ['retry.longestRetryAfterMs', { retry: { longestRetryAfterMs: '60' } }],
    ['retry.retires', { retry: { retires: 1 } }],
    ['timeout', { timeout: 5 }],
    ['fetch', { fetch: 'secret' }],
    ['onAnswer', { onAnswer: null }],
    ['cache.get', { cache: {} }],
    ['cache.set', { cache: { get: () => undefined } }],
  ])('%s of %j', (name, options) => {
    const create = (): unknown => createClient({ baseUrl: 'https://api.example.com', apiKey: 'key', ...options });
    expect(create).toThrow(TypeError);
    expect(create).toThrow(new RegExp(`^${name} `));
    expect(create).not.toThrow(/secret/);
  });
});
