import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { MAX_HEAD_BYTES } from '../../src/http/server/server.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { exchangeBytes, parseResponses, readToEnd, type RawResponse } from '../support/network/raw-http.ts';
import { createListeningApp } from './test-app.ts';

let key: string;

const service = forAllTests(() =>
  createListeningApp({
    addRoutes(v1) {
      v1.get('/slow', { config: { kind: 'contracts', parameters: {} } }, async () => {
        await delay(300);
        return '{}';
      });
    },
  }),
);
beforeAll(() => {
  key = `Authorization: Bearer ${service.key}\r\n`;
});

function expectRefusal(response: RawResponse | undefined, status = 400, code = 'validation_failed'): string {
  expect(response?.status).toBe(status);
  const { error } = JSON.parse(String(response?.body ?? '')) as {
    error: { code: string; message: string; request_id: string };
  };
  expect(error.code).toBe(code);
  expect(error.request_id).toMatch(/^req_[\w-]{22}$/);
  expect(response?.headers.get('x-request-id')).toBe(error.request_id);
  expect(response?.headers.get('content-type')).toBe('application/json; charset=utf-8');
  return error.message;
}

async function exchange(...parts: string[]): Promise<RawResponse[]> {
  return parseResponses(await exchangeBytes(service.port, parts));
}

const get = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`;

describe('a request that the HTTP parser rejects gets the error envelope and a request id', () => {
  test.each([
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['HTTP/2 without having agreed on it', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unknown method', 'FETCH /v1/contracts HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a space in the address', 'GET /v1/con tracts HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a header without a colon', 'GET /health HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n'],
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ])('%s', async (_name, bytes) => {
    const responses = await exchange(bytes);
    expect(responses).toHaveLength(1);
    expectRefusal(responses[0]);
    expect(responses[0]?.headers.get('connection')).toBe('close');
  });

  test('headers or a URL that are too long, with the response complete', async () => {
    const long = 'x'.repeat(MAX_HEAD_BYTES * 8);
    for (const bytes of [get('/health', `X-Long: ${long}\r\n`), get(`/v1/contracts?q=${long}`)]) {
      const [response] = await exchange(bytes);
      expect(expectRefusal(response)).toContain(String(MAX_HEAD_BYTES));
    }
  });

  test('CONNECT, with 405', async () => {
    const [response] = await exchange('CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    expectRefusal(response, 405);
    expect(response?.headers.get('allow')).toBe('GET, HEAD');
  });
});

describe('a request that Node would handle by itself is checked first', () => {
  test('an unknown Expect header gets 400', async () => {
    const unknown = 'Expect: a-miracle\r\n';
    expectRefusal((await exchange(get('/v1/coops', unknown)))[0], 401, 'unauthorized');
    expectRefusal((await exchange(get('/v1/coops', unknown + key)))[0]);
    expectRefusal((await exchange(get('/health', unknown)))[0]);
  });

  test('"Expect: 100-continue" gets the final response immediately', async () => {
    const head = `POST /v1/coops HTTP/1.1\r\nHost: x\r\n${key}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n`;
    const responses = await exchange(head);
    expect(responses).toHaveLength(1);
    expectRefusal(responses[0], 405);
  });

  test('a missing or repeated Host header gets 400, except for a missing one in HTTP/1.0', async () => {
    const without = (version: string): string => `GET /v1/coops HTTP/${version}\r\nConnection: close\r\n`;
    expectRefusal((await exchange(`${without('1.1')}\r\n`))[0], 401, 'unauthorized');
    expectRefusal((await exchange(`${without('1.1')}${key}\r\n`))[0]);
    expectRefusal((await exchange(get('/v1/coops', `Host: y\r\n${key}`)))[0]);
    expect((await exchange(`${without('1.0')}${key}\r\n`))[0]?.status).toBe(200);
  });

  test('a repeated Authorization header gets 401, although Node drops the second', async () => {
    expect((await exchange(get('/v1/coops', key)))[0]?.status).toBe(200);
    expectRefusal((await exchange(get('/v1/coops', key + key)))[0], 401, 'unauthorized');
    expectRefusal((await exchange(get('/v1/coops', `${key}authorization: Bearer x\r\n`)))[0], 401, 'unauthorized');
  });

  test('methods that only the parser knows get 405', async () => {
    for (const method of ['PROPFIND', 'QUERY', 'TRACE', 'M-SEARCH']) {
      const request = (path: string, headers: string): string =>
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`;
      expectRefusal((await exchange(request('/v1/coops', '')))[0], 401, 'unauthorized');
      expectRefusal((await exchange(request('/v1/coops', key)))[0], 405);
      expectRefusal((await exchange(request('/v1/nothing', key)))[0], 404, 'not_found');
    }
  });

  test('an upgrade is ignored', async () => {
    const [response] = await exchange(
      get('/v1/coops', `Upgrade: websocket\r\n${key}`).replace('close', 'upgrade, close'),
    );
    expect(response?.status).toBe(200);
  });
});

describe('request targets', () => {
  test('an absolute URL is served, as proxies send it', async () => {
    expect((await exchange(get('http://x/v1/coops?limit=1', key)))[0]?.status).toBe(200);
    expectRefusal((await exchange(get('http://x/v1/coops?limit=0', key)))[0]);
    expectRefusal((await exchange(get('http://x/v1/%ZZ')))[0], 401, 'unauthorized');
    expect((await exchange(get('HTTP://:no-host/v1/coops?limit=1', key)))[0]?.status).toBe(200);
    expect((await exchange(get('http://x?limit=1', key)))[0]?.status).toBe(302);
    expectRefusal((await exchange(get('http://x/nothing', key)))[0], 404, 'not_found');
  });

  test('an absolute URL without a host, or with another scheme, gets 400', async () => {
    for (const target of ['http://', 'HTTPS://?limit=1', 'http:///v1/coops', 'ftp://x/v1/coops', 'x://y']) {
      const [response] = await exchange(get(target, key));
      expectRefusal(response);
      expect(response?.headers.get('vary'), target).toBe('Accept-Encoding');
      expect(response?.headers.get('cache-control')).toBe('no-store');
    }
  });

  test('bytes that are not percent-encoded, and a fragment, get 400', async () => {
    const bytes = Buffer.from('école').toString('latin1');
    for (const target of [`/v1/contracts?q=${bytes}`, '/v1/contracts?q=\xe9cole', '/v1/coops#?limit=1']) {
      expectRefusal((await exchange(get(target, key)))[0]);
    }
  });
});

test('a malformed body does not cut off a response in progress', async () => {
  const head = `GET /v1/slow HTTP/1.1\r\nHost: x\r\n${key}Transfer-Encoding: chunked\r\n\r\n`;
  const responses = await exchange(`${head}no length\r\n`);
  expect(responses.map(({ status }) => status)).toEqual([200]);
});

test('a request in flight is served before the malformed rest of the connection is rejected', async () => {
  const responses = await exchange(`GET /v1/slow HTTP/1.1\r\nHost: x\r\n${key}\r\nhello\r\n\r\n`);
  expect(responses.map(({ status }) => status)).toEqual([200, 400]);
  expectRefusal(responses[1]);
});

describe('slow clients', () => {
  test('have seconds, not minutes, to send a request', () => {
    const { headersTimeout, requestTimeout, timeout } = service.app.server;
    expect(headersTimeout).toBe(10_000);
    expect(requestTimeout).toBe(15_000);
    expect(timeout).toBeGreaterThan(0);
  });

  test('get an error and lose the connection if they do not finish their headers', async () => {
    const { server } = service.app;
    const usual = server.headersTimeout;
    server.headersTimeout = 200;
    try {
      for (const start of ['GET /v1/coops HTTP/1.1\r\nHost: x\r\n', '']) {
        const startedAt = Date.now();
        const socket = connect(service.port, '127.0.0.1');
        await once(socket, 'connect');
        if (start !== '') socket.write(start);
        const [response] = parseResponses(await readToEnd(socket));
        expect(Date.now() - startedAt).toBeLessThan(4_000);
        expect(expectRefusal(response)).toContain('in time');
      }
    } finally {
      server.headersTimeout = usual;
    }
  });
});
