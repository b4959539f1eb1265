import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sendResponse } from '../../src/http/response/response-cache.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { makePartner } from '../support/partners.ts';
import { createListeningApp, exchangeRaw } from './test-app.ts';

const BODY = JSON.stringify({ text: 'Cooperative “purchasing”. '.repeat(100) });
const WATERMARK = '2026-04-15T09:00:00.000Z';

let agent: Agent;
let handled: number;
let body: string;
let goodUntilMs: number;
/** The revision of the rows, derived from the partner's revision. */
let revisionOf: (partnerRevision: string) => string | null;

const service = forEachTest(() =>
  createListeningApp({
    config: { requestsPerMinute: 1_000_000 },
    addRoutes(v1) {
      v1.get('/cached', { config: { kind: 'contracts', parameters: {} } }, (request, reply) => {
        handled += 1;
        const revision = revisionOf(request.partner.revision);
        return sendResponse(request, reply, { body, rows: 1, watermark: WATERMARK, revision, goodUntilMs });
      });
    },
  }),
);
beforeEach(() => {
  handled = 0;
  body = BODY;
  goodUntilMs = Number.POSITIVE_INFINITY;
  revisionOf = (revision) => revision;
  agent = new Agent({ keepAlive: true });
});
// Before the server closes, which waits for connected clients.
afterEach(() => agent.destroy());

interface Received {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawPayload: Buffer;
}

/** Over a socket, since cached responses bypass the framework. */
async function send(headers: Record<string, string> = {}, method = 'GET', path = '/v1/cached'): Promise<Received> {
  const { port, authorization } = service;
  const sent = request({ port, path, method, agent, headers: { ...authorization, ...headers } }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const rawPayload = await buffer(response);
  return { statusCode: response.statusCode ?? 0, headers: response.headers, rawPayload };
}

/** The parts of a response that must be the same each time. */
function lasting({ statusCode, headers, rawPayload }: Received): unknown {
  const { 'x-request-id': id, ratelimit, date, ...others } = headers;
  expect(id).toMatch(/^req_[\w-]{22}$/);
  expect(ratelimit).toMatch(/^"partner";r=\d+;t=\d+$/);
  return { statusCode, headers: others, body: rawPayload.toString('hex') };
}

describe('a repeated request', () => {
  test.each([
    [{}, 'GET'],
    [{}, 'HEAD'],
    [{ 'accept-encoding': 'br' }, 'GET'],
    [{ 'accept-encoding': 'gzip, deflate' }, 'GET'],
    [{ 'accept-encoding': 'br' }, 'HEAD'],
    [{ 'if-none-match': '*' }, 'GET'],
    [{ 'if-none-match': '*', 'accept-encoding': 'br' }, 'HEAD'],
    [{ 'if-none-match': '"other"' }, 'GET'],
  ] as const)('is served from the cache byte for byte: %j %s', async (headers, method) => {
    const first = await send(headers, method);
    for (let time = 0; time < 3; time += 1) expect(lasting(await send(headers, method))).toEqual(lasting(first));
    expect(handled).toBe(1);
    expect(first.headers).toMatchObject({
      vary: 'Authorization, Accept, Accept-Encoding',
      'cache-control': 'private, no-cache',
      'x-sync-watermark': WATERMARK,
    });
  });

  test('is served from the cache in every encoding, and as 304 if the tag matches', async () => {
    const tag = String((await send()).headers.etag);
    expect((await send()).rawPayload.toString()).toBe(BODY);
    expect(brotliDecompressSync((await send({ 'accept-encoding': 'br' })).rawPayload).toString()).toBe(BODY);
    expect(gunzipSync((await send({ 'accept-encoding': 'gzip' })).rawPayload).toString()).toBe(BODY);
    const again = await send({ 'if-none-match': tag });
    expect([again.statusCode, again.rawPayload.toString(), again.headers['content-type']]).toEqual([
      304,
      '',
      undefined,
    ]);
    expect((await send({}, 'HEAD')).headers['content-length']).toBe(String(Buffer.byteLength(BODY)));
    expect(handled).toBe(1);
  });

  test('is logged even if served from the cache', async () => {
    for (let time = 0; time < 3; time += 1) await send();
    const lines = service.linesWith('"route":"/v1/cached"');
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line).toMatchObject({ status: 200, partner: 'acme' });
    expect(handled).toBe(1);
  });

  test('counts against the limit, and is refused once that is used up, even if the response is cached', async () => {
    const small = { name: 'small', everything: true, requestsPerMinute: 4 };
    const { key } = await makePartner(service.database, Date.now, small);
    const responses: Received[] = [];
    for (let time = 0; time < 6; time += 1) responses.push(await send({ authorization: `Bearer ${key}` }));
    expect(responses.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 429, 429]);
    const remaining = responses.map(({ headers }) => String(headers['ratelimit']).split(';')[1]);
    expect(remaining).toEqual(['r=3', 'r=2', 'r=1', 'r=0', 'r=0', 'r=0']);
    expect(JSON.parse(responses.at(-1)?.rawPayload.toString() ?? '')).toMatchObject({
      error: { code: 'rate_limited' },
    });
    // The first request precedes the server's notice of the new partner.
    expect(handled).toBeLessThanOrEqual(2);
  });

  test('is checked for errors outside the URL before the cache is used', async () => {
    await send();
    const { key, port } = service;
    const head = `Authorization: Bearer ${key}\r\nConnection: close\r\n`;
    for (const wrong of ['', 'Host: a\r\nHost: b\r\n', 'Host: a\r\nExpect: more\r\n']) {
      expect(await exchangeRaw(port, `GET /v1/cached HTTP/1.1\r\n${wrong}${head}\r\n`)).toMatch(/^HTTP\/1\.1 400/);
    }
    expect(await exchangeRaw(port, `GET /v1/cached HTTP/1.1\r\nHost: a\r\n${head}\r\n`)).toMatch(/^HTTP\/1\.1 200/);
    expect((await send({}, 'POST')).statusCode).toBe(405);
    expect((await send({ authorization: 'none' })).statusCode).toBe(401);
    expect((await send({}, 'GET', '/v1/cached?x=1')).statusCode).toBe(400);
    expect(handled).toBe(1);
  });

  test('is not handled again if its client leaves before the cached response is compressed', async () => {
    // Takes much longer to compress than a closed connection takes to be noticed.
    body = JSON.stringify(randomBytes(4_000_000).toString('base64'));
    // With a query, which the log must not contain.
    const path = '/v1/cached?';
    // A long response is cached on its second request.
    for (let time = 0; time < 2; time += 1) await send({}, 'GET', path);
    const arrived = once(service.app.server, 'request');
    const headers = { ...service.authorization, 'accept-encoding': 'br' };
    const leaving = request({ port: service.port, path, headers }).on('error', () => undefined);
    leaving.end();
    const [, response] = (await arrived) as [IncomingMessage, ServerResponse];
    leaving.destroy();
    await once(response, 'close');
    expect((await send({ 'accept-encoding': 'br' }, 'GET', path)).statusCode).toBe(200);
    expect(handled).toBe(2);
    expect(service.log()).toContain('request aborted');
    expect(service.log()).not.toContain(path);
  });
});

describe('a response is not cached', () => {
  test.each([
    ['without a revision', (): null => null],
    ["if the partner's revision is another number", (revision: string): string => `1${revision}`],
    ["if the partner's revision has the same number and another token", (revision: string): string => `${revision}x`],
  ])('%s', async (_case, revision) => {
    revisionOf = revision;
    await send();
    await send();
    expect(handled).toBe(2);
  });

  test('beyond the time at which it changes', async () => {
    goodUntilMs = Date.now() + 300;
    await send();
    await send();
    expect(handled).toBe(1);
    await sleep(310);
    await send();
    expect(handled).toBe(2);
  });
});
