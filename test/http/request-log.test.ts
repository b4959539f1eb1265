import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, exchangeRaw, type TestApp } from './test-app.ts';

const SECRET = 'pds_test_a1b2c3d4_TheSecretOfSomebodyElse000000000000000000000000';

let service: TestApp;
let port: number;

beforeAll(async () => {
  service = await createTestApp({
    addRoutes(app) {
      const config = { kind: 'contracts', parameters: {} } as const;
      app.get('/v1/failing', { config }, () => {
        throw new Error('out of order');
      });
      app.get('/v1/slow', { config }, async () => {
        await delay(200);
        return '{}';
      });
    },
  });
  port = await service.listen();
});
afterAll(() => service.close());

function linesAbout(requestId: unknown): Record<string, unknown>[] {
  return service
    .log()
    .split('\n')
    .filter((line) => line.includes(String(requestId)))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('a request has one line, with who asked for what, how it ended and how long it took', async () => {
  const headers = `Host: x\r\nConnection: close\r\nAuthorization: Bearer ${service.key}\r\n`;
  const answer = await exchangeRaw(port, `GET /v1/contracts/no-such-id HTTP/1.1\r\n${headers}\r\n`);
  const lines = linesAbout(/x-request-id: (\S+)/.exec(answer)?.[1]);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({
    method: 'GET',
    route: '/v1/contracts/:id',
    status: 404,
    partner: 'acme',
    keyId: service.key.split('_')[2],
  });
  expect(lines[0]?.['durationMs']).toBeTypeOf('number');
});

test('a request whose client went away has one too', async () => {
  const request = get({ port, host: '127.0.0.1', path: '/v1/slow', headers: service.authorization });
  request.on('error', () => undefined);
  await delay(80);
  request.destroy();
  await delay(300);
  const [line] = linesAbout('request aborted');
  expect(line).toMatchObject({ route: '/v1/slow', status: null, partner: 'acme' });
});

test('no key and nothing of an address or a header is ever logged', async () => {
  const header = { authorization: `Bearer ${SECRET}` };
  await service.app.inject({ url: `/v1/contracts?q=${SECRET}&key=${SECRET}`, headers: header });
  await service.app.inject({ url: `/v1/${SECRET}`, headers: service.authorization });
  await service.app.inject({ url: `/${SECRET}/%ZZ`, headers: { ...header, 'x-request-id': SECRET } });
  await service.app.inject({ url: `/v1/failing`, headers: { ...service.authorization, 'x-other': SECRET } });
  await service.app.inject({ url: `/v1/contracts?${SECRET}=1`, headers: service.authorization });
  await exchangeRaw(port, `GET /${SECRET} HTTP/1.1\r\nAuthorization: Bearer ${SECRET}\r\nbroken ${SECRET}\r\n\r\n`);
  await exchangeRaw(port, `${SECRET} / HTTP/1.1\r\n\r\n`);
  const logged = service.log();
  expect(logged).toContain('out of order');
  expect(logged).not.toContain(SECRET);
  expect(logged).not.toContain(service.key);
});
