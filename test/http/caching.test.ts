import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from './test-app.ts';

const LONG = JSON.stringify({ text: 'Cooperative purchasing. '.repeat(200) });

let service: TestApp;
let content = LONG;

beforeAll(async () => {
  service = await createTestApp({
    addRoutes(app) {
      app.get('/v1/long', { config: { kind: 'contracts', parameters: {} } }, async (_request, reply) =>
        reply
          .header('X-Sync-Watermark', '2026-04-15T09:00:00.000Z')
          .type('application/json; charset=utf-8')
          .send(content),
      );
    },
  });
});
afterAll(() => service.close());

const ask = (
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' = 'GET',
  url = '/v1/long',
): Promise<LightMyRequestResponse> =>
  service.app.inject({ method, url, headers: { ...service.authorization, ...headers } });

async function tagOf(): Promise<string> {
  return String((await ask()).headers.etag);
}

describe('the entity tag', () => {
  test('is weak, belongs to the content, and is the same in every encoding', async () => {
    const tag = await tagOf();
    expect(tag).toMatch(/^W\/"[\w-]{22}"$/);
    for (const encoding of ['br', 'gzip', 'identity']) {
      expect((await ask({ 'accept-encoding': encoding })).headers.etag).toBe(tag);
    }
    content = LONG.replace('purchasing', 'buying');
    expect(await tagOf()).not.toBe(tag);
    content = LONG;
    expect(await tagOf()).toBe(tag);
  });

  test('is on no error', async () => {
    const answer = await ask({ 'if-none-match': '*' }, 'GET', '/v1/contracts/no-such-id');
    expect(answer.statusCode).toBe(404);
    expect(answer.headers.etag).toBeUndefined();
  });
});

describe('If-None-Match', () => {
  test('gives 304 without a body for the tag, in a list, in strong form, and for *', async () => {
    const tag = await tagOf();
    expect((await ask({ 'if-none-match': tag, 'cache-control': 'no-cache' })).statusCode).toBe(304);
    for (const asked of [tag, tag.slice(2), `"other", ${tag}`, `W/"a,b",${tag} , "c"`, '*']) {
      for (const method of ['GET', 'HEAD'] as const) {
        const answer = await ask({ 'if-none-match': asked, 'accept-encoding': 'br' }, method);
        expect(answer.statusCode, asked).toBe(304);
        expect(answer.payload).toBe('');
        expect(answer.headers).toMatchObject({
          etag: tag,
          vary: 'Authorization, Accept-Encoding',
          'cache-control': 'private, no-cache',
          'x-sync-watermark': '2026-04-15T09:00:00.000Z',
          'ratelimit-policy': '"partner";q=600;w=60',
        });
        expect(answer.headers['x-request-id']).toMatch(/^req_/);
        expect(answer.headers['content-length']).toBeUndefined();
        expect(answer.headers['content-encoding']).toBeUndefined();
      }
    }
  });

  test('gives the whole answer for any other tag', async () => {
    for (const asked of ['"other"', 'W/"other"', '', 'garbage', '""']) {
      const answer = await ask({ 'if-none-match': asked });
      expect(answer.statusCode, asked).toBe(200);
      expect(answer.payload).toBe(LONG);
    }
  });
});

describe('compression', () => {
  test.each([
    ['br', (bytes: Buffer) => brotliDecompressSync(bytes)],
    ['gzip', (bytes: Buffer) => gunzipSync(bytes)],
  ] as const)('%s holds the same text, and HEAD tells the same length', async (encoding, decompress) => {
    const answer = await ask({ 'accept-encoding': encoding });
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(answer.headers.vary).toBe('Authorization, Accept-Encoding');
    expect(answer.headers['content-length']).toBe(String(answer.rawPayload.length));
    expect(answer.rawPayload.length).toBeLessThan(LONG.length / 5);
    expect(decompress(answer.rawPayload).toString()).toBe(LONG);
    const head = await ask({ 'accept-encoding': encoding }, 'HEAD');
    expect(head.headers['content-length']).toBe(answer.headers['content-length']);
    expect(head.headers['content-encoding']).toBe(encoding);
  });

  test('is left out where it is not asked for, refused, or would save nothing', async () => {
    for (const asked of [{}, { 'accept-encoding': 'identity' }, { 'accept-encoding': 'br;q=0, gzip;q=0' }]) {
      const answer = await ask(asked);
      expect(answer.headers['content-encoding']).toBeUndefined();
      expect(answer.payload).toBe(LONG);
      expect(answer.headers.vary).toBe('Authorization, Accept-Encoding');
    }
    const short = await ask({ 'accept-encoding': 'br' }, 'GET', '/v1/coops');
    expect(short.headers['content-encoding']).toBeUndefined();
  });

  test('refusing everything gives the plain text, since 406 is no status here', async () => {
    const answer = await ask({ 'accept-encoding': 'identity;q=0, *;q=0' });
    expect(answer.statusCode).toBe(200);
    expect(answer.payload).toBe(LONG);
  });
});

describe('what needs no key', () => {
  test('the document is compressed, tagged and asked for again; health is not kept', async () => {
    const plain = await ask({}, 'GET', '/openapi.json');
    const packed = await ask({ 'accept-encoding': 'gzip' }, 'GET', '/openapi.json');
    expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.payload);
    expect(packed.headers).toMatchObject({
      vary: 'Accept-Encoding',
      'cache-control': 'no-cache',
      etag: plain.headers.etag,
    });
    const again = await ask({ 'if-none-match': String(plain.headers.etag) }, 'GET', '/openapi.json');
    expect([again.statusCode, again.payload]).toEqual([304, '']);
    const health = await ask({}, 'GET', '/health');
    expect(health.json()).toEqual({ status: 'ok' });
    expect(health.headers['cache-control']).toBe('no-store');
    expect(health.headers.etag).toBeUndefined();
  });
});
