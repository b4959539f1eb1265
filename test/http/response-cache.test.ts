import { once } from 'node:events';
import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { revoke } from '../../src/access/grant-admin.ts';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import { createPartner, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import { sendResponse } from '../../src/http/response-cache.ts';
import { createTestApp, exchangeRaw, type TestApp } from './test-app.ts';

const BODY = JSON.stringify({ text: 'Cooperative “purchasing”. '.repeat(100) });
const WATERMARK = '2026-04-15T09:00:00.000Z';

let service: TestApp;
let port: number;
let agent: Agent;
let asked: number;
let goodUntilMs: number;
/** The revision of the rows, derived from the partner's revision. */
let revisionOf: (partnerRevision: string) => string | null;

beforeEach(async () => {
  asked = 0;
  goodUntilMs = Number.POSITIVE_INFINITY;
  revisionOf = (revision) => revision;
  service = await createTestApp({
    config: { requestsPerMinute: 1_000_000 },
    addRoutes(app) {
      app.get('/v1/kept', { config: { kind: 'contracts', parameters: {} } }, (request, reply) => {
        asked += 1;
        const revision = revisionOf(request.partner.revision);
        return sendResponse(request, reply, { body: BODY, rows: 1, watermark: WATERMARK, revision, goodUntilMs });
      });
    },
  });
  port = await service.listen();
  agent = new Agent({ keepAlive: true });
});
afterEach(async () => {
  // A server's shutdown waits for connected clients.
  agent.destroy();
  await service.close();
});

interface Received {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawPayload: Buffer;
}

/** Over a socket, since cached responses bypass the framework. */
async function ask(headers: Record<string, string> = {}, method = 'GET', path = '/v1/kept'): Promise<Received> {
  const sent = request({ port, path, method, agent, headers: { ...service.authorization, ...headers } }).end();
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

async function timeUntil(isSo: () => Promise<boolean>): Promise<number> {
  const from = performance.now();
  while (!(await isSo())) {
    if (performance.now() - from > 5_000) throw new Error('nothing changed in 5 s');
    await sleep(5);
  }
  return performance.now() - from;
}

describe('an answer that was given before', () => {
  test.each([
    [{}, 'GET'],
    [{}, 'HEAD'],
    [{ 'accept-encoding': 'br' }, 'GET'],
    [{ 'accept-encoding': 'gzip, deflate' }, 'GET'],
    [{ 'accept-encoding': 'br' }, 'HEAD'],
    [{ 'if-none-match': '*' }, 'GET'],
    [{ 'if-none-match': '*', 'accept-encoding': 'br' }, 'HEAD'],
    [{ 'if-none-match': '"other"' }, 'GET'],
  ] as const)('is given again, the same to the byte, without asking for it anew: %j %s', async (headers, method) => {
    const first = await ask(headers, method);
    for (let time = 0; time < 3; time += 1) expect(lasting(await ask(headers, method))).toEqual(lasting(first));
    expect(asked).toBe(1);
    expect(first.headers).toMatchObject({
      vary: 'Authorization, Accept-Encoding',
      'cache-control': 'private, no-cache',
      'x-sync-watermark': WATERMARK,
    });
  });

  test('is given in whatever encoding is asked for, and as 304 to who has it', async () => {
    const tag = String((await ask()).headers.etag);
    expect((await ask()).rawPayload.toString()).toBe(BODY);
    expect(brotliDecompressSync((await ask({ 'accept-encoding': 'br' })).rawPayload).toString()).toBe(BODY);
    expect(gunzipSync((await ask({ 'accept-encoding': 'gzip' })).rawPayload).toString()).toBe(BODY);
    const again = await ask({ 'if-none-match': tag });
    expect([again.statusCode, again.rawPayload.toString(), again.headers['content-type']]).toEqual([
      304,
      '',
      undefined,
    ]);
    expect((await ask({}, 'HEAD')).headers['content-length']).toBe(String(Buffer.byteLength(BODY)));
    expect(asked).toBe(1);
  });

  test('goes into the log and counts against the limit like any other', async () => {
    const head = `Host: a\r\nAuthorization: Bearer ${service.key}\r\nConnection: close\r\n`;
    const remaining: number[] = [];
    for (let time = 0; time < 3; time += 1) {
      const answer = await exchangeRaw(port, `GET /v1/kept HTTP/1.1\r\n${head}\r\n`);
      remaining.push(Number(/ratelimit: "partner";r=(\d+)/.exec(answer)?.[1]));
    }
    expect(remaining).toEqual([999_999, 999_998, 999_997]);
    const lines = service
      .log()
      .split('\n')
      .filter((line) => line.includes('"route":"/v1/kept"'));
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ status: 200, partner: 'acme' });
    expect(asked).toBe(1);
  });

  test('is refused like any other once the quota is used up', async () => {
    await createPartner(service.database, Date.now, 'small', { everything: true });
    await setPartner(service.database, Date.now, 'small', { requestsPerMinute: 4 });
    const { key } = await issueKey(service.database, Date.now, 'small', { environment: 'test', lifetimeMs: null });
    const answers: Received[] = [];
    for (let time = 0; time < 6; time += 1) answers.push(await ask({ authorization: `Bearer ${key}` }));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 429, 429]);
    expect(answers.map(({ headers }) => String(headers['ratelimit']).split(';')[1])).toEqual([
      'r=3',
      'r=2',
      'r=1',
      'r=0',
      'r=0',
      'r=0',
    ]);
    expect(JSON.parse(answers.at(-1)?.rawPayload.toString() ?? '')).toMatchObject({ error: { code: 'rate_limited' } });
    // The first request precedes the server's notice of the new partner.
    expect(asked).toBeLessThanOrEqual(2);
  });

  test('does not let pass what is wrong whatever the address is', async () => {
    await ask();
    const head = `Authorization: Bearer ${service.key}\r\nConnection: close\r\n`;
    for (const wrong of ['', 'Host: a\r\nHost: b\r\n', 'Host: a\r\nExpect: more\r\n']) {
      expect(await exchangeRaw(port, `GET /v1/kept HTTP/1.1\r\n${wrong}${head}\r\n`)).toMatch(/^HTTP\/1\.1 400/);
    }
    expect(await exchangeRaw(port, `GET /v1/kept HTTP/1.1\r\nHost: a\r\n${head}\r\n`)).toMatch(/^HTTP\/1\.1 200/);
    expect((await ask({}, 'POST')).statusCode).toBe(405);
    expect((await ask({ authorization: 'none' })).statusCode).toBe(401);
    expect((await ask({}, 'GET', '/v1/kept?x=1')).statusCode).toBe(400);
    expect(asked).toBe(1);
  });

  test('is given to nobody else', async () => {
    await ask();
    await createPartner(service.database, Date.now, 'other', { everything: true });
    const { key } = await issueKey(service.database, Date.now, 'other', { environment: 'test', lifetimeMs: null });
    await ask({ authorization: `Bearer ${key}` });
    expect(asked).toBe(2);
  });
});

describe('an answer is not kept', () => {
  test.each([
    ['without a revision', (): null => null],
    ['if its rows are of another number than the partner', (revision: string): string => `1${revision}`],
    [
      'if its rows are of the same number as the partner, with another token',
      (revision: string): string => `${revision}x`,
    ],
  ])('%s', async (_case, revision) => {
    revisionOf = revision;
    await ask();
    await ask();
    expect(asked).toBe(2);
  });

  test('past the moment at which it changes', async () => {
    goodUntilMs = Date.now() + 300;
    await ask();
    await ask();
    expect(asked).toBe(1);
    await sleep(310);
    await ask();
    expect(asked).toBe(2);
  });
});

describe('within a second, nothing is given any more that was taken away by', () => {
  beforeEach(async () => {
    await ask();
    expect((await ask()).statusCode).toBe(200);
    expect(asked).toBe(1);
  });
  const timeUntilStatus = (status: number): Promise<number> =>
    timeUntil(async () => (await ask()).statusCode === status);

  test('the revocation of a key', async () => {
    await revokeKey(service.database, Date.now, service.key.slice(9, 17));
    expect(await timeUntilStatus(401)).toBeLessThan(1_000);
  });

  test('a suspension', async () => {
    await suspendPartner(service.database, Date.now, 'acme');
    expect(await timeUntilStatus(403)).toBeLessThan(1_000);
  });

  test('a limit to other kinds', async () => {
    await setPartner(service.database, Date.now, 'acme', { kinds: ['coops'] });
    expect(await timeUntilStatus(403)).toBeLessThan(1_000);
  });

  test('the revocation of a grant', async () => {
    await revoke(service.database, Date.now, 'acme', { everything: true, leadEntities: [], coops: [] });
    const isAskedAnew = async (): Promise<boolean> => {
      await ask();
      return asked > 1;
    };
    expect(await timeUntil(isAskedAnew)).toBeLessThan(1_000);
  });
});
