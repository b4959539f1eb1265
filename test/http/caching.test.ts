import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, test } from 'vitest';
import { sendResponse } from '../../src/http/response/response-cache.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { createTestApp } from './test-app.ts';

const LONG = JSON.stringify({ text: 'Cooperative purchasing. '.repeat(200) });

let content = LONG;

const service = forAllTests(() =>
  createTestApp({
    addRoutes(v1) {
      v1.get('/long', { config: { kind: 'contracts', parameters: {} } }, (request, reply) =>
        sendResponse(request, reply, {
          body: content,
          rows: 1,
          watermark: '2026-04-15T09:00:00.000Z',
          revision: null,
          goodUntilMs: Number.POSITIVE_INFINITY,
        }),
      );
    },
  }),
);

const send = (
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' = 'GET',
  url = '/v1/long',
): Promise<LightMyRequestResponse> =>
  service.app.inject({ method, url, headers: { ...service.authorization, ...headers } });

async function tagOf(): Promise<string> {
  return String((await send()).headers.etag);
}

describe('ETag', () => {
  test('ETag is weak, identifies the content, and is the same for every encoding', async () => {
    const tag = await tagOf();
    expect(tag).toMatch(/^W\/"[\w-]{22}"$/);
    for (const encoding of ['br', 'gzip', 'identity']) {
      expect((await send({ 'accept-encoding': encoding })).headers.etag).toBe(tag);
    }
    content = LONG.replace('purchasing', 'buying');
    expect(await tagOf()).not.toBe(tag);
    content = LONG;
    expect(await tagOf()).toBe(tag);
  });

  test('errors have no ETag', async () => {
    const response = await send({ 'if-none-match': '*' }, 'GET', '/v1/contracts/no-such-id');
    expect(response.statusCode).toBe(404);
    expect(response.headers.etag).toBeUndefined();
  });
});

describe('If-None-Match', () => {
  test('returns 304 without a body for the current tag: alone, in a list, in strong form, and for *', async () => {
    const tag = await tagOf();
    expect((await send({ 'if-none-match': tag, 'cache-control': 'no-cache' })).statusCode).toBe(304);
    for (const header of [tag, tag.slice(2), `"other", ${tag}`, `W/"a,b",${tag} , "c"`, '*']) {
      for (const method of ['GET', 'HEAD'] as const) {
        const response = await send({ 'if-none-match': header, 'accept-encoding': 'br' }, method);
        expect(response.statusCode, header).toBe(304);
        expect(response.payload).toBe('');
        expect(response.headers).toMatchObject({
          etag: tag,
          vary: 'Authorization, Accept, Accept-Encoding',
          'cache-control': 'private, no-cache',
          'x-sync-watermark': '2026-04-15T09:00:00.000Z',
          'ratelimit-policy': '"partner";q=600;w=60',
        });
        expect(response.headers['x-request-id']).toMatch(/^req_/);
        expect(response.headers['content-length']).toBeUndefined();
        expect(response.headers['content-encoding']).toBeUndefined();
      }
    }
  });

  test('returns the full response for any other tag', async () => {
    for (const header of ['"other"', 'W/"other"', '', 'garbage', '""']) {
      const response = await send({ 'if-none-match': header });
      expect(response.statusCode, header).toBe(200);
      expect(response.payload).toBe(LONG);
    }
  });
});

describe('compression', () => {
  test.each([
    ['br', (bytes: Buffer) => brotliDecompressSync(bytes)],
    ['gzip', (bytes: Buffer) => gunzipSync(bytes)],
  ] as const)(
    '%s decompresses to the same text, and HEAD has the same Content-Length',
    async (encoding, decompress) => {
      const response = await send({ 'accept-encoding': encoding });
      expect(response.headers['content-encoding']).toBe(encoding);
      expect(response.headers.vary).toBe('Authorization, Accept, Accept-Encoding');
      expect(response.headers['content-length']).toBe(String(response.rawPayload.length));
      expect(response.rawPayload.length).toBeLessThan(LONG.length / 5);
      expect(decompress(response.rawPayload).toString()).toBe(LONG);
      const head = await send({ 'accept-encoding': encoding }, 'HEAD');
      expect(head.headers['content-length']).toBe(response.headers['content-length']);
      expect(head.headers['content-encoding']).toBe(encoding);
    },
  );

  test('the text is sent as it is if the client accepts no encoding, refuses all, or compression would save nothing', async () => {
    for (const accepted of ['', 'identity', 'br;q=0, gzip;q=0', 'identity;q=0, *;q=0']) {
      const response = await send(accepted === '' ? {} : { 'accept-encoding': accepted });
      expect([response.statusCode, response.headers['content-encoding']], accepted).toEqual([200, undefined]);
      expect(response.payload).toBe(LONG);
      expect(response.headers.vary).toBe('Authorization, Accept, Accept-Encoding');
    }
    const short = await send({ 'accept-encoding': 'br' }, 'GET', '/v1/coops');
    expect(short.headers['content-encoding']).toBeUndefined();
  });
});

test('openapi.json, which needs no key, is compressed, tagged and revalidated; /health is not cacheable', async () => {
  const plain = await send({}, 'GET', '/openapi.json');
  const packed = await send({ 'accept-encoding': 'gzip' }, 'GET', '/openapi.json');
  expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.payload);
  expect(packed.headers).toMatchObject({
    vary: 'Accept-Encoding',
    'cache-control': 'no-cache',
    etag: plain.headers.etag,
  });
  const again = await send({ 'if-none-match': String(plain.headers.etag) }, 'GET', '/openapi.json');
  expect([again.statusCode, again.payload]).toEqual([304, '']);
  const health = await send({}, 'GET', '/health');
  expect(health.json()).toEqual({ status: 'ok' });
  expect(health.headers['cache-control']).toBe('no-store');
  expect(health.headers.etag).toBeUndefined();
});
