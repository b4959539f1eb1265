import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { FAILURES_PER_MINUTE } from '../../src/rate-limiting/request-limits.ts';
import { createClient, type Client } from '../support/client.ts';
import { startNginx, type NginxPart } from '../support/cluster/nginx.ts';
import { ServicePart } from '../support/cluster/service.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { databaseForAllTests } from '../support/database.ts';
import { findLastingPort } from '../support/free-port.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { makePartner } from '../support/partners.ts';
import { testWith } from '../support/installed-programs.ts';
import { parseResponses, readToEnd } from '../support/network/raw-http.ts';
import { contract, publishLines, SMALL_CATALOG } from '../support/publishing.ts';

const test = testWith('nginx', 'openssl');

/** For a busy machine. */
const MARGIN_MS = 1_500;

let service: ServicePart;
/** The site's second service, which is down in most tests. */
let other: ServicePart;
let nginx: NginxPart;
let client: Client;
let key: string;

const workspace = forAllTests(() => new Workspace());
const made = databaseForAllTests();
beforeAll(async () => {
  ({ key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true }));
  const settings = { ...made.settings, PDS_TRUSTED_PROXIES: '127.0.0.1' };
  service = new ServicePart(workspace, await findLastingPort(), settings);
  await service.start();
  other = new ServicePart(workspace, await findLastingPort(), settings);
  nginx = await startNginx(workspace, [service.port, other.port]);
  client = createClient(nginx.url, nginx.tls);
});
afterAll(() => client.close());

/** Sends bytes to nginx; returns the socket that receives its response. */
async function send(bytes: string): Promise<TLSSocket> {
  const socket = connect({ port: nginx.port, host: '127.0.0.1', ...nginx.tls });
  await once(socket, 'secureConnect');
  socket.write(bytes);
  return socket;
}

const idOf = (answer: string): string | undefined => /^x-request-id: (req_\w+)\r$/im.exec(answer)?.[1];

describe('behind nginx with the site in ops/', () => {
  test('partners do not notice that one of two services is down', async () => {
    for (let time = 0; time < 20; time += 1) {
      expect(await client.get('/v1/coops', { key })).toMatchObject({ status: 200 });
    }
  });

  test.each(['/metrics', '/livez', '/readyz'])('partners get 404 for %s', async (path) => {
    const { status, body, headers } = await client.get(path);
    expect(status).toBe(404);
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'not_found', request_id: headers['x-request-id'] } });
  });

  test.each([
    ['no request', 'garbage\r\n\r\n', 400],
    ['a header that is too long', `GET /v1/coops HTTP/1.1\r\nHost: a\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`, 400],
    ['a path that is too long', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 400],
    ['a body that is too large', 'GET /v1/coops HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n', 400],
    ['an unknown transfer encoding', 'GET /v1/coops HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n', 400],
    ['an unknown version of HTTP', 'GET /v1/coops HTTP/3.0\r\nHost: a\r\n\r\n', 400],
    ['a path with a NUL', 'GET /v1/%00 HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['TRACE', 'TRACE /v1/coops HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 405],
  ])(
    'the response to %s has the error envelope, whether nginx or the service sends it',
    async (_what, bytes, status) => {
      const answer = await text(await send(bytes));
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      const { error } = JSON.parse(answer.slice(answer.indexOf('{'))) as { error: Record<string, string> };
      expect(error['code']).toBe('validation_failed');
      expect(error['request_id']).toBe(idOf(answer));
      if (status === 405) expect(answer).toMatch(/^allow: GET, HEAD\r$/im);
    },
  );

  test('a request without TLS gets 400 with the error envelope', async () => {
    const sent = request({ port: nginx.port, host: '127.0.0.1', path: '/v1/coops' }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(400);
    expect(JSON.parse(await text(response))).toMatchObject({ error: { code: 'validation_failed' } });
  });

  test('failed keys count for the real client address, whatever X-Forwarded-For the client sends', async () => {
    const statuses: number[] = [];
    for (let time = 0; time <= FAILURES_PER_MINUTE; time += 1) {
      const headers = { 'X-Forwarded-For': `10.9.8.${time}` };
      statuses.push((await client.get('/v1/coops', { key: 'wrong', headers })).status);
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(FAILURES_PER_MINUTE);
    expect(statuses.at(-1)).toBe(429);
  });

  test('a client of HTTP/1.0, which could not see that a stream was cut, is refused one', async () => {
    const head = `Host: a\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    const get = async (version: string): Promise<string> =>
      text(await send(`GET /v1/coops?format=csv ${version}\r\n${head}`));
    expect(await get('HTTP/1.0')).toMatch(/^HTTP\/1.1 400 [^]*streamed over HTTP\/1.1 only/);
    expect(await get('HTTP/1.1')).toMatch(/^HTTP\/1.1 200 /);
  });

  test('while a service hangs, three requests take 7 seconds, and the next ones none', async () => {
    await other.start();
    await nginx.restart();
    other.freeze();
    const get = async (): Promise<number> => {
      const startedMs = performance.now();
      expect((await client.get('/v1/coops', { key })).status).toBe(200);
      return performance.now() - startedMs;
    };
    try {
      // They reach both services in turn.
      const first = await Promise.all(Array.from({ length: 6 }, get));
      expect(first.filter((ms) => ms > 6_500)).toHaveLength(3);
      expect(Math.max(...first)).toBeLessThan(7_000 + MARGIN_MS);
      for (const endMs = performance.now() + 3_000; performance.now() < endMs;) {
        expect(await get()).toBeLessThan(MARGIN_MS);
      }
    } finally {
      other.thaw();
      await other.stop();
      await nginx.restart();
    }
  }, 60_000);

  test('a stream whose reader pauses for longer than nginx waits for a service is complete', async () => {
    const contracts = Array.from({ length: 120 }, (_, index) => ({
      ...contract(`ctr_${index}`),
      description: 'Asphalt '.repeat(25_000),
    }));
    await publishLines(made.database, { ...SMALL_CATALOG, contracts });
    const head = `Host: a\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    const socket = await send(`GET /v1/contracts?format=ndjson HTTP/1.1\r\n${head}`);
    await once(socket, 'readable');
    await delay(8_000);
    // More is left than all buffers on the way hold.
    expect(service.output()).not.toContain('"route":"/v1/contracts"');
    const [response] = parseResponses(await readToEnd(socket.resume()));
    expect(response?.body.toString().split('\n')).toHaveLength(contracts.length + 1);
  }, 60_000);

  test('partners get 500 with the error envelope if all services are down', async () => {
    await service.stop();
    for (let time = 0; time < 10; time += 1) {
      const { status, body, headers } = await client.get('/v1/coops', { key });
      expect(status).toBe(500);
      expect(headers['x-request-id']).toMatch(/^req_\w+$/);
      expect(JSON.parse(body)).toMatchObject({
        error: { code: 'internal_error', request_id: headers['x-request-id'] },
      });
    }
    await service.start();
  });
});
