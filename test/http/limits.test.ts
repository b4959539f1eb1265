import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { issueKeyText } from '../../src/access/keys.ts';
import { FAILURES_PER_MINUTE } from '../../src/rate-limiting/request-limits.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { makePartner } from '../support/partners.ts';
import { createTestApp } from './test-app.ts';

const service = forEachTest(createTestApp);

function send(key: string, path = '/v1/coops', remoteAddress = '192.0.2.1'): Promise<LightMyRequestResponse> {
  return service.app.inject({ url: path, headers: { authorization: `Bearer ${key}` }, remoteAddress });
}

const limitHeaders = ({ headers }: LightMyRequestResponse): unknown[] => [
  headers['ratelimit-policy'],
  headers['ratelimit'],
];

describe('the limit of a partner', () => {
  test('is reported on every response to a valid key, whatever its status', async () => {
    for (const [index, path] of ['/v1/coops', '/v1/coops?x=1', '/v1/nothing', '/v1/coops'].entries()) {
      const response = await send(service.key, path);
      const [policy, limit] = limitHeaders(response);
      expect(policy).toBe('"partner";q=600;w=60');
      expect(limit).toMatch(new RegExp(`^"partner";r=${599 - index};t=(60|59)$`));
    }
    const tag = (await send(service.key)).headers.etag;
    const notModified = await service.app.inject({
      url: '/v1/coops',
      headers: { ...service.authorization, 'if-none-match': tag },
    });
    expect(notModified.statusCode).toBe(304);
    expect(limitHeaders(notModified)[1]).toContain('r=594');
  });

  test('is not reported without a valid key, nor outside /v1', async () => {
    expect(limitHeaders(await send('wrong'))).toEqual([undefined, undefined]);
    expect(limitHeaders(await send(service.key, '/health'))).toEqual([undefined, undefined]);
  });

  test('covers all of its keys and no other partner, and applies before paths and parameters are checked', async () => {
    const small = { name: 'small', everything: true, requestsPerMinute: 3 };
    const { key: first } = await makePartner(service.database, Date.now, small);
    const { key: second } = await issueKey(service.database, Date.now, 'small', {
      environment: 'test',
      lifetimeMs: null,
    });
    const statuses: number[] = [];
    for (const key of [first, second, first, second]) statuses.push((await send(key)).statusCode);
    expect(statuses).toEqual([200, 200, 200, 429]);
    for (const path of ['/v1/nothing', '/v1/coops?x=1']) {
      const refused = await send(first, path);
      expect(refused.statusCode).toBe(429);
      expect(refused.json<{ error: { code: string } }>().error.code).toBe('rate_limited');
      expect(refused.headers['retry-after']).toMatch(/^(60|59)$/);
      expect(limitHeaders(refused)[1]).toContain('"partner";r=0;t=');
    }
    expect((await send(service.key)).statusCode).toBe(200);
  });

  test('allows any number of keys, each of which is looked up once', async () => {
    const keys: string[] = [];
    // More than the requests that one holder can have in flight.
    for (let count = 0; count < 140; count += 1) {
      const options = { environment: 'test', lifetimeMs: null } as const;
      keys.push((await issueKey(service.database, Date.now, 'acme', options)).key);
    }
    // Without a cached response, which would return every permit of its request.
    for (const key of keys) expect((await send(key, '/v1/nothing')).statusCode).toBe(404);
  });

  test('is the configured one if the partner has none of its own', async () => {
    await using configured = await createTestApp({ config: { requestsPerMinute: 2 } });
    const { headers } = await configured.app.inject({ url: '/v1/coops', headers: configured.authorization });
    expect(headers['ratelimit-policy']).toBe('"partner";q=2;w=60');
  });
});

describe('failed authentications', () => {
  const failAs = async (address: string, times: number): Promise<LightMyRequestResponse[]> =>
    Promise.all(
      Array.from({ length: times }, (_, index) =>
        send(index % 2 === 0 ? issueKeyText('test').key : 'wrong', '/v1/nothing', address),
      ),
    );

  test('get 429 after too many from one address, whatever their format, and never affect a valid key from there', async () => {
    const first = await failAs('192.0.2.1', FAILURES_PER_MINUTE);
    expect(new Set(first.map(({ statusCode }) => statusCode))).toEqual(new Set([401]));
    const [refused] = await failAs('192.0.2.1', 1);
    expect(refused?.statusCode).toBe(429);
    const seconds = String(refused?.headers['retry-after']);
    expect(seconds).toMatch(/^(60|59)$/);
    expect(refused?.json<{ error: { message: string } }>().error.message).toBe(
      'Too many requests without a valid API key from this address. Requests with a valid key still work. ' +
        `Correct the key, or try again in ${seconds} s (see the Retry-After header).`,
    );
    for (const guess of ['wrong', issueKeyText('test').key, issueKeyText('live').key]) {
      expect((await send(guess)).statusCode).toBe(429);
      expect((await send(guess, '/v1/coops', '::ffff:192.0.2.1')).statusCode).toBe(429);
    }
    expect((await send(service.key)).statusCode).toBe(200);
    expect((await send('wrong', '/v1/coops', '192.0.2.2')).statusCode).toBe(401);
  });

  test('are counted per client of a trusted proxy, and X-Forwarded-For from anyone else is ignored', async () => {
    await using proxied = await createTestApp({ config: { trustedProxies: ['192.0.2.10', '10.0.0.0/8'] } });
    const fail = (remoteAddress: string, forwardedFor: string): Promise<LightMyRequestResponse> =>
      proxied.app.inject({ url: '/v1/coops', remoteAddress, headers: { 'x-forwarded-for': forwardedFor } });
    const exhaust = async (remoteAddress: string, forwardedFor: (index: number) => string): Promise<number> => {
      for (let index = 0; index < FAILURES_PER_MINUTE; index += 1) await fail(remoteAddress, forwardedFor(index));
      return (await fail(remoteAddress, forwardedFor(0))).statusCode;
    };
    // Behind trusted proxies, the client is the last address that is not a proxy, whatever precedes it.
    expect(await exhaust('192.0.2.10', (index) => `203.0.113.${index}, 198.51.100.7, 10.1.2.3`)).toBe(429);
    expect((await fail('192.0.2.10', '198.51.100.8')).statusCode).toBe(401);
    // The header is ignored if it comes from anyone else.
    expect(await exhaust('203.0.113.99', (index) => `198.51.100.${index}`)).toBe(429);
  });
});
