import { fastify, type LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import { DEMO_KEY } from '../../src/access/demo-key.ts';
import { createPartner, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import { addRouteConfig } from '../../src/http/route-config.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let service: TestApp;

beforeAll(async () => {
  service = await createTestApp({
    addRoutes(app) {
      app.get('/v1/failing', { config: { kind: 'contracts', parameters: {} } }, () => {
        throw new Error('the password is hunter2');
      });
    },
  });
});
afterAll(() => service.close());

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

const ask = (
  url: string,
  headers: Record<string, string> = {},
  method: Method = 'GET',
): Promise<LightMyRequestResponse> => service.app.inject({ url, headers, method });

const askAsAcme = (url: string, method: Method = 'GET'): Promise<LightMyRequestResponse> =>
  ask(url, service.authorization, method);

interface ErrorBody {
  error: { code: string; message: string; request_id: string };
}

function expectError(answer: LightMyRequestResponse, status: number, code: string): ErrorBody['error'] {
  expect(answer.statusCode).toBe(status);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  const { error } = answer.json<ErrorBody>();
  expect(error.code).toBe(code);
  expect(error.request_id).toBe(answer.headers['x-request-id']);
  expect(Object.keys(error)).toEqual(['code', 'message', 'request_id']);
  return error;
}

describe('the request id', () => {
  test('is made here, differs each time, and is not taken from the client', async () => {
    const inbound = { 'x-request-id': 'req_mine', 'request-id': 'req_mine' };
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => (await ask('/health', inbound)).headers['x-request-id']),
    );
    expect(new Set(ids).size).toBe(20);
    for (const id of ids) expect(id).toMatch(/^req_[A-Za-z0-9_-]{22}$/);
  });
});

describe('401', () => {
  test('is the same whatever is wrong with the key', async () => {
    const { database } = service;
    const issue = (environment: 'live' | 'test', lifetimeMs: number | null) =>
      issueKey(database, Date.now, 'acme', { environment, lifetimeMs });
    const revoked = await issue('test', null);
    await revokeKey(database, Date.now, revoked.details.id);
    const bodies = new Set<string>();
    const keys = {
      malformed: 'x',
      'with a typing error': `${service.key.slice(0, -1)}${service.key.endsWith('0') ? '1' : '0'}`,
      unknown: DEMO_KEY,
      revoked: revoked.key,
      expired: (await issue('test', -1)).key,
      'of another environment': (await issue('live', null)).key,
    };
    const answers = [
      await ask('/v1/contracts'),
      await ask(`/v1/contracts?key=${service.key}&authorization=${service.key}`),
      await ask('/v1/contracts', { authorization: `Basic ${service.key}` }),
      ...(await Promise.all(
        Object.values(keys).map((key) => ask('/v1/contracts', { authorization: `Bearer ${key}` })),
      )),
    ];
    for (const answer of answers) {
      const error = expectError(answer, 401, 'unauthorized');
      expect(answer.headers['www-authenticate']).toBe('Bearer');
      bodies.add(answer.payload.replace(error.request_id, ''));
    }
    expect(bodies.size).toBe(1);
  });

  test('comes before anything else under /v1, also for paths that do not exist', async () => {
    const paths = ['/v1', '/v1/', '/v1/nothing', '/v1/contracts/', '/v1/contracts/%ZZ', '/v1/%00', '/v1/contracts?x=1'];
    for (const path of [...paths, '/%76%31/contracts', '/v1?x=1']) expectError(await ask(path), 401, 'unauthorized');
    expectError(await ask('/v1/contracts', {}, 'POST'), 401, 'unauthorized');
  });

  test('is not said to a good key, however its scheme is spelt', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const answer = await ask('/v1/contracts', { authorization: `${scheme} ${service.key}` });
      expect(answer.statusCode).toBe(200);
    }
  });
});

describe('404 of a path', () => {
  test.each([
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v1/contracts/',
    '/v1/contracts/a/b',
    '/v1/solicitations/count/',
    '/V1/contracts',
  ])('%s is not there', async (path) => {
    const { message } = expectError(await askAsAcme(path), 404, 'not_found');
    expect(message).toContain('nothing at this path');
  });

  test.each(['/nothing', '/favicon.ico', '//v1/contracts', '/health/', '/docs/nothing', '/docs//', '/v10/contracts'])(
    'elsewhere needs no key: %s',
    async (path) => {
      expectError(await ask(path), 404, 'not_found');
    },
  );

  test('a path that is not there is 404 for every method, and before its parameters are looked at', async () => {
    expectError(await askAsAcme('/v1/nothing?x=%ZZ'), 404, 'not_found');
    for (const method of ['POST', 'DELETE', 'OPTIONS'] as const) {
      expectError(await askAsAcme('/v1/nothing', method), 404, 'not_found');
      expectError(await askAsAcme('/v1/contracts/', method), 404, 'not_found');
      expectError(await ask('/nothing', {}, method), 404, 'not_found');
    }
  });
});

describe('405', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const)('%s says what is allowed', async (method) => {
    for (const path of [
      '/v1/contracts',
      '/v1/contracts/some-id',
      '/v1/contracts?x=1',
      '/health',
      '/openapi.json',
      '/openapi-3.0.json',
      '/docs',
    ]) {
      const answer = await askAsAcme(path, method);
      expectError(answer, 405, 'validation_failed');
      expect(answer.headers.allow).toBe('GET, HEAD');
    }
  });

  test('no body is looked at', async () => {
    for (const type of ['application/json', 'text/odd', 'multipart/form-data', ';;']) {
      const headers = { ...service.authorization, 'content-type': type };
      const answer = await service.app.inject({ method: 'POST', url: '/v1/contracts', headers, payload: '{"a' });
      expectError(answer, 405, 'validation_failed');
    }
  });

  test('a GET with a body is answered as one without', async () => {
    const headers = { ...service.authorization, 'content-type': 'application/json' };
    const answer = await service.app.inject({ method: 'GET', url: '/v1/contracts', headers, payload: '{"a' });
    expect(answer.statusCode).toBe(200);
  });
});

describe('400', () => {
  test.each(['/v1/contracts/%ZZ', '/v1/contracts/%FF', '/v1/contracts/a%00b', '/v1/%', '/v1/contracts%00?limit=5'])(
    'a path that cannot be read: %s',
    async (path) => {
      expectError(await askAsAcme(path), 400, 'validation_failed');
    },
  );

  test.each(['/%ZZ', '/%00', '/health%FF'])('also where no key is needed: %s', async (path) => {
    expectError(await ask(path), 400, 'validation_failed');
  });

  test.each(['q=%ZZ', 'q=%00', 'q=%FF', 'limit=0x10', 'limit=5&limit=6', 'x[]=1', '__proto__=1', 'nothing=1'])(
    'a parameter that is unknown, repeated or malformed: %s',
    async (query) => {
      expectError(await askAsAcme(`/v1/contracts?${query}`), 400, 'validation_failed');
    },
  );

  test('comes before 404 of a record, which takes no parameters', async () => {
    expectError(await askAsAcme('/v1/contracts/no-such-id?limit=5'), 400, 'validation_failed');
    expectError(await askAsAcme('/v1/contracts/no-such-id'), 404, 'not_found');
  });

  test('a slash within an id is part of the id', async () => {
    const { message } = expectError(await askAsAcme('/v1/contracts/a%2Fb'), 404, 'not_found');
    expect(message).toContain('no such record');
  });

  test('an id may be as long as an address', async () => {
    expectError(await askAsAcme(`/v1/contracts/${'x'.repeat(8_000)}`), 404, 'not_found');
  });
});

describe('403', () => {
  test('a suspended partner is told so, after its request was found to be right', async () => {
    const { database } = service;
    await createPartner(database, Date.now, 'suspended', { everything: true });
    const { key } = await issueKey(database, Date.now, 'suspended', { environment: 'test', lifetimeMs: null });
    await suspendPartner(database, Date.now, 'suspended');
    const headers = { authorization: `Bearer ${key}` };
    expectError(await ask('/v1/contracts', headers), 403, 'forbidden');
    expectError(await ask('/v1/contracts/no-such-id', headers), 403, 'forbidden');
    expectError(await ask('/v1/contracts?x=1', headers), 400, 'validation_failed');
    expectError(await ask('/v1/contracts', headers, 'POST'), 405, 'validation_failed');
    expectError(await ask('/v1/nothing', headers), 404, 'not_found');
  });

  test('a partner that is limited to some kinds gets no others', async () => {
    const { database } = service;
    await createPartner(database, Date.now, 'limited', { everything: true });
    await setPartner(database, Date.now, 'limited', { kinds: ['suppliers', 'coops'] });
    const { key } = await issueKey(database, Date.now, 'limited', { environment: 'test', lifetimeMs: null });
    const headers = { authorization: `Bearer ${key}` };
    for (const path of ['/v1/suppliers', '/v1/coops']) expect((await ask(path, headers)).statusCode).toBe(200);
    for (const path of ['contracts', 'solicitations', 'solicitations/count', 'lead-entities', 'city-services']) {
      const { message } = expectError(await ask(`/v1/${path}`, headers), 403, 'forbidden');
      expect(message).toContain('suppliers, coops');
    }
  });
});

describe('500', () => {
  test('tells the partner nothing of the cause, and the log everything', async () => {
    const answer = await askAsAcme('/v1/failing');
    const { request_id: id } = expectError(answer, 500, 'internal_error');
    expect(answer.payload).not.toContain('hunter2');
    const logged = service
      .log()
      .split('\n')
      .filter((line) => line.includes(id));
    expect(logged.some((line) => line.includes('hunter2'))).toBe(true);
  });
});

describe('a route under /v1', () => {
  test('cannot be registered without saying who may ask for it', () => {
    const app = fastify();
    addRouteConfig(app);
    expect(() => app.get('/v1/open', () => 'open')).toThrow('needs a config');
  });
});

describe('every answer', () => {
  test.each(['/v1/contracts', '/v1/contracts?x=1', '/v1/nothing', '/v1/failing', '/v1/contracts/%ZZ'])(
    'says how it may be kept and what it depends on: %s',
    async (path) => {
      for (const headers of [{}, service.authorization]) {
        const answer = await ask(path, headers);
        expect(answer.headers['cache-control']).toBe('private, no-cache');
        expect(answer.headers.vary).toBe('Authorization, Accept-Encoding');
      }
    },
  );

  test('to HEAD has the headers of the answer to GET, and no body', async () => {
    for (const path of ['/v1/contracts', '/v1/contracts?x=1', '/v1/nothing', '/v1/contracts/no-such-id', '/health']) {
      const get = await askAsAcme(path);
      const head = await askAsAcme(path, 'HEAD');
      expect(head.statusCode).toBe(get.statusCode);
      expect(head.payload).toBe('');
      for (const name of ['content-length', 'content-type', 'etag', 'vary', 'cache-control', 'x-sync-watermark']) {
        expect(head.headers[name], `${name} of ${path}`).toBe(get.headers[name]);
      }
    }
  });
});
