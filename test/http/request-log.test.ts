import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import { composeKey } from '../../src/access/keys.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { createListeningApp, exchangeRaw } from './test-app.ts';

const SECRET = 'pds_test_a1b2c3d4_TheSecretOfSomebodyElse000000000000000000000000';

/** Resolve when the slow request has arrived, and when its client has disconnected. */
const arrived = Promise.withResolvers<null>();
const disconnected = Promise.withResolvers<null>();

const service = forAllTests(() =>
  createListeningApp({
    addRoutes(v1) {
      const config = { kind: 'contracts', parameters: {} } as const;
      v1.get('/failing', { config }, () => {
        throw new Error('out of order');
      });
      v1.get('/slow', { config }, async () => {
        arrived.resolve(null);
        await disconnected.promise;
        return '{}';
      });
    },
  }),
);

/** Sends a request; returns its log line, and the ETag and the body of its response. */
async function lineOf(path: string, headers: string): Promise<Record<string, unknown>> {
  const request = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`;
  const response = await exchangeRaw(service.port, request);
  const [, id = ''] = /x-request-id: (\S+)/i.exec(response) ?? [];
  await expect.poll(() => service.linesWith(id)).toHaveLength(1);
  const body = response.slice(response.indexOf('\r\n\r\n')).replace(id, '');
  return { ...service.linesWith(id)[0], etag: /etag: (\S+)/.exec(response)?.[1], body };
}

/** Sends the requests in sequence, with a good key. */
async function linesOf(
  requests: readonly (readonly [path: string, headers?: string])[],
): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = [];
  for (const [path, headers = ''] of requests) {
    lines.push(await lineOf(path, `Authorization: Bearer ${service.key}\r\n${headers}`));
  }
  return lines;
}

test('the log line has the number of records sent, for every kind of response', async () => {
  await publishLines(service.database, SMALL_CATALOG);
  await delay(700);
  const expected = [
    ['/v1/suppliers', 200, 2],
    ['/v1/suppliers?limit=1', 200, 1],
    // From the cache.
    ['/v1/suppliers?limit=1', 200, 1],
    ['/v1/suppliers?state=ZZ', 200, 0],
    ['/v1/suppliers/sup_1', 200, 1],
    ['/v1/suppliers/no_such', 404, 0],
    ['/v1/suppliers?limit=0', 400, 0],
    ['/v1/solicitations/count', 200, 0],
  ] as const;
  const lines = await linesOf(expected.map(([path]) => [path] as const));
  expect(lines.map(({ status, rows }, index) => [expected[index]?.[0], status, rows])).toEqual(expected);
  for (const path of ['/v1/suppliers', '/v1/suppliers/sup_1']) {
    const [found] = await linesOf([[path]]);
    const [unchanged] = await linesOf([[path, `If-None-Match: ${String(found?.['etag'])}\r\n`]]);
    expect(unchanged, path).toMatchObject({ status: 304, rows: 0 });
  }
});

test('a request has one log line, with exactly these fields', async () => {
  const [found, missing] = await linesOf([['/v1/coops'], ['/v1/contracts/no-such-id']]);
  for (const ofResponse of ['etag', 'body']) Reflect.deleteProperty(found ?? {}, ofResponse);
  expect(Object.keys(found ?? {})).toEqual([
    'level',
    'time',
    'pid',
    'hostname',
    'requestId',
    'method',
    'route',
    'status',
    'durationMs',
    'partner',
    'keyId',
    'rows',
    'msg',
  ]);
  expect(missing).toMatchObject({
    ...{ method: 'GET', route: '/v1/contracts/:id', status: 404, partner: 'acme' },
    ...{ keyId: service.key.split('_')[2], durationMs: expect.any(Number) as number },
  });
});

test("the log line has the trace id of the request's traceparent, if that is valid", async () => {
  const id = '0af7651916cd43dd8448eb211c80319c';
  const [first, later] = [`00-${id}-b7ad6b7169203331-00`, `01-${id}-b7ad6b7169203331-01-what-comes-later`];
  const invalid = [
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    first.replace('00', 'ff'),
    `${first}\r\ntraceparent: ${first}`,
  ];
  const lines = await linesOf([first, later, ...invalid].map((value) => ['/v1/coops', `traceparent: ${value}\r\n`]));
  expect(lines.map(({ traceId }) => traceId)).toEqual([id, id, undefined, undefined, undefined]);
});

test('the log line of a refused request has the error code and why', async () => {
  const lines = await linesOf([
    ['/v1/suppliers?limit=0'],
    ['/v1/suppliers?stat=TX'],
    ['/v1/suppliers?cursor=abc'],
    ['/v1/suppliers/no_such'],
    ['/v1/no-such-path'],
    ['/v1/suppliers', 'Expect: 200-ok\r\n'],
  ]);
  expect(lines.map(({ status, code, reason }) => [status, code, reason])).toEqual([
    [400, 'validation_failed', 'Parameter "limit" must be a whole number from 1 to 100, in plain digits.'],
    [400, 'validation_failed', 'Unknown parameter "stat".'],
    [400, 'validation_failed', 'Parameter "cursor" was not issued by this list for these filters.'],
    [404, 'not_found', 'No such record, or your key cannot see it.'],
    [404, 'not_found', 'No such path.'],
    [400, 'validation_failed', 'The expectation in the Expect header is not supported.'],
  ]);
  const unread = await exchangeRaw(service.port, 'garbage\r\n\r\n');
  const [line] = service.linesWith(/x-request-id: (\S+)/i.exec(unread)?.[1] ?? '');
  expect(line).toMatchObject({ status: 400, code: 'validation_failed', reason: 'HPE_INVALID_METHOD' });
});

test('the log line of a refused key names the key and its partner if it was issued here, and its response does not', async () => {
  const issue = async (lifetimeMs: number | null): Promise<{ key: string; details: { id: string } }> =>
    issueKey(service.database, Date.now, 'acme', { environment: 'test', lifetimeMs });
  const [revoked, expired] = [await issue(null), await issue(1)];
  await revokeKey(service.database, Date.now, revoked.details.id);
  const forged = composeKey('test', revoked.details.id, 'x'.repeat(38));
  const bodies = new Set();
  const refuse = async (headers: string): Promise<Record<string, unknown>> => {
    const { status, partner, keyId, code, keyState, body } = await lineOf('/v1/coops', headers);
    bodies.add(body);
    return { status, partner, keyId, code, keyState };
  };
  const refused = { status: 401, code: 'unauthorized', partner: null, keyId: null };
  // The second time, the key is cached.
  for (let time = 0; time < 2; time += 1) {
    for (const [{ key, details }, keyState] of [[revoked, 'revoked'] as const, [expired, 'expired'] as const]) {
      const found = { partner: 'acme', keyId: details.id, keyState };
      expect(await refuse(`Authorization: Bearer ${key}\r\n`)).toEqual({ ...refused, ...found });
    }
  }
  expect(await refuse('')).toEqual({ ...refused, keyState: 'missing' });
  for (const key of [forged, SECRET, 'x']) {
    expect(await refuse(`Authorization: Bearer ${key}\r\n`)).toEqual({ ...refused, keyState: 'unknown' });
  }
  expect(bodies.size).toBe(1);
  for (const { key } of [revoked, expired]) expect(service.log()).not.toContain(key.slice(-44, -6));
});

test('what a client calls a parameter is logged only if it looks like a name', async () => {
  const names = [
    'page[size]',
    'a'.repeat(25),
    'sk_51HaBcD',
    'eyJhbGciOiJIUzI1NiJ9',
    'a%1B[31m',
    'a%E2%80%AEb',
    'a%22,%22status%22:%22',
  ];
  const lines = await linesOf(names.map((name) => [`/v1/coops?${name}=1`] as const));
  expect(lines.map(({ reason }) => reason)).toEqual([
    'Unknown parameter "page[size]".',
    ...names.slice(1).map(() => 'Unknown parameter (a name that is not logged).'),
  ]);
  const [malformed] = await linesOf([['/v1/coops?sk_51HaBcD=%ZZ']]);
  expect(malformed?.['reason']).toBe('Parameter (a name that is not logged) is malformed.');
});

test('a request that the client aborted is logged', async () => {
  const request = get({ port: service.port, host: '127.0.0.1', path: '/v1/slow', headers: service.authorization });
  request.on('error', () => undefined);
  await arrived.promise;
  request.destroy();
  await expect.poll(() => service.linesWith('request aborted')).toHaveLength(1);
  disconnected.resolve(null);
  const [line] = service.linesWith('request aborted');
  expect(line).toMatchObject({ route: '/v1/slow', status: null, partner: 'acme' });
});

test('keys and the contents of URLs and headers are never logged', async () => {
  const header = { authorization: `Bearer ${SECRET}` };
  await service.app.inject({ url: `/v1/contracts?q=${SECRET}&key=${SECRET}`, headers: header });
  await service.app.inject({ url: `/v1/${SECRET}`, headers: service.authorization });
  await service.app.inject({ url: `/${SECRET}/%ZZ`, headers: { ...header, 'x-request-id': SECRET } });
  await service.app.inject({ url: `/v1/failing`, headers: { ...service.authorization, 'x-other': SECRET } });
  await service.app.inject({ url: `/v1/contracts?${SECRET}=1`, headers: service.authorization });
  const broken = `Authorization: Bearer ${SECRET}\r\nbroken ${SECRET}\r\n`;
  await exchangeRaw(service.port, `GET /${SECRET} HTTP/1.1\r\n${broken}\r\n`);
  await exchangeRaw(service.port, `${SECRET} / HTTP/1.1\r\n\r\n`);
  const logged = service.log();
  expect(logged).toContain('out of order');
  expect(logged).not.toContain(SECRET);
  expect(logged).not.toContain(service.key);
});
