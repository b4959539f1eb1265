import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_HEAD_BYTES } from '../../src/http/server-options.ts';
import { exchangeBytes, parseAnswers, readToEnd, type RawAnswer } from '../support/raw-http.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let service: TestApp;
let port: number;
let key: string;

beforeAll(async () => {
  service = await createTestApp({
    addRoutes(app) {
      app.get('/v1/slow', { config: { kind: 'contracts', parameters: {} } }, async () => {
        await delay(300);
        return '{}';
      });
    },
  });
  port = await service.listen();
  key = `Authorization: Bearer ${service.key}\r\n`;
});
afterAll(() => service.close());

function expectRefusal(answer: RawAnswer | undefined, status = 400, code = 'validation_failed'): string {
  expect(answer?.status).toBe(status);
  const { error } = JSON.parse(String(answer?.body ?? '')) as {
    error: { code: string; message: string; request_id: string };
  };
  expect(error.code).toBe(code);
  expect(error.request_id).toMatch(/^req_[\w-]{22}$/);
  expect(answer?.headers.get('x-request-id')).toBe(error.request_id);
  expect(answer?.headers.get('content-type')).toBe('application/json; charset=utf-8');
  return error.message;
}

async function exchange(...parts: string[]): Promise<RawAnswer[]> {
  return parseAnswers(await exchangeBytes(port, parts));
}

const get = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`;

describe('what the HTTP parser refuses has an id and the envelope', () => {
  test.each([
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['HTTP/2 without having agreed on it', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unknown method', 'FETCH /v1/contracts HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a space in the address', 'GET /v1/con tracts HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a header without a colon', 'GET /health HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n'],
    ['two lengths', 'GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    [
      'a length and chunks',
      'POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
    ],
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ])('%s', async (_name, bytes) => {
    const answers = await exchange(bytes);
    expect(answers).toHaveLength(1);
    expectRefusal(answers[0]);
    expect(answers[0]?.headers.get('connection')).toBe('close');
  });

  test('headers or an address that are too long, and the answer arrives whole', async () => {
    const long = 'x'.repeat(MAX_HEAD_BYTES * 8);
    for (const bytes of [get('/health', `X-Long: ${long}\r\n`), get(`/v1/contracts?q=${long}`)]) {
      const [answer] = await exchange(bytes);
      expect(expectRefusal(answer)).toContain(String(MAX_HEAD_BYTES));
    }
  });

  test('CONNECT is a method that is not taken', async () => {
    const [answer] = await exchange('CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    expectRefusal(answer, 405);
    expect(answer?.headers.get('allow')).toBe('GET, HEAD');
  });
});

describe('what Node would answer by itself goes through the checks', () => {
  test('an Expect header', async () => {
    const unknown = 'Expect: a-miracle\r\n';
    expectRefusal((await exchange(get('/v1/coops', unknown)))[0], 401, 'unauthorized');
    expectRefusal((await exchange(get('/v1/coops', unknown + key)))[0]);
    expectRefusal((await exchange(get('/health', unknown)))[0]);
  });

  test('a client that waits to be asked for its body gets its answer at once', async () => {
    const head = `POST /v1/coops HTTP/1.1\r\nHost: x\r\n${key}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n`;
    const answers = await exchange(head);
    expect(answers).toHaveLength(1);
    expectRefusal(answers[0], 405);
  });

  test('a missing or second Host header; HTTP/1.0 needs none', async () => {
    const without = (version: string): string => `GET /v1/coops HTTP/${version}\r\nConnection: close\r\n`;
    expectRefusal((await exchange(`${without('1.1')}\r\n`))[0], 401, 'unauthorized');
    expectRefusal((await exchange(`${without('1.1')}${key}\r\n`))[0]);
    expectRefusal((await exchange(get('/v1/coops', `Host: y\r\n${key}`)))[0]);
    expect((await exchange(`${without('1.0')}${key}\r\n`))[0]?.status).toBe(200);
  });

  test('a second Authorization header, which Node drops', async () => {
    expect((await exchange(get('/v1/coops', key)))[0]?.status).toBe(200);
    expectRefusal((await exchange(get('/v1/coops', key + key)))[0], 401, 'unauthorized');
    expectRefusal((await exchange(get('/v1/coops', `${key}authorization: Bearer x\r\n`)))[0], 401, 'unauthorized');
  });

  test('methods that only the parser knows', async () => {
    for (const method of ['PROPFIND', 'QUERY', 'TRACE', 'M-SEARCH']) {
      const request = (path: string, headers: string): string =>
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`;
      expectRefusal((await exchange(request('/v1/coops', '')))[0], 401, 'unauthorized');
      expectRefusal((await exchange(request('/v1/coops', key)))[0], 405);
      expectRefusal((await exchange(request('/v1/nothing', key)))[0], 404, 'not_found');
    }
  });

  test('an upgrade to another protocol is not made', async () => {
    const [answer] = await exchange(
      get('/v1/coops', `Upgrade: websocket\r\n${key}`).replace('close', 'upgrade, close'),
    );
    expect(answer?.status).toBe(200);
  });
});

describe('addresses as they come', () => {
  test('an absolute one, as through a proxy', async () => {
    expect((await exchange(get('http://x/v1/coops?limit=1', key)))[0]?.status).toBe(200);
    expectRefusal((await exchange(get('http://x/v1/coops?limit=0', key)))[0]);
    expectRefusal((await exchange(get('http://x/v1/%ZZ')))[0], 401, 'unauthorized');
    expect((await exchange(get('HTTP://:no-host/v1/coops?limit=1', key)))[0]?.status).toBe(200);
    expect((await exchange(get('http://x?limit=1', key)))[0]?.status).toBe(200);
    expectRefusal((await exchange(get('http://x/nothing', key)))[0], 404, 'not_found');
  });

  test('one that names no host, or is of another scheme, is answered like any that cannot be read', async () => {
    for (const target of ['http://', 'HTTPS://?limit=1', 'http:///v1/coops', 'ftp://x/v1/coops', 'x://y']) {
      const [answer] = await exchange(get(target, key));
      expectRefusal(answer);
      expect(answer?.headers.get('vary'), target).toBe('Accept-Encoding');
      expect(answer?.headers.get('cache-control')).toBe('no-store');
    }
  });

  test('bytes that are not percent-encoded are refused, not guessed at', async () => {
    for (const bytes of [Buffer.from('école').toString('latin1'), '\xe9cole']) {
      expectRefusal((await exchange(get(`/v1/contracts?q=${bytes}`, key)))[0]);
    }
  });

  test('a fragment, which no client should send', async () => {
    expectRefusal((await exchange(get('/v1/coops#?limit=1', key)))[0]);
  });
});

describe('bodies', () => {
  test('are not read, and do not disturb the next request of the connection', async () => {
    const post = `POST /v1/coops HTTP/1.1\r\nHost: x\r\n${key}Content-Type: a/b\r\nContent-Length: 5\r\n\r\nhello`;
    const chunked = `GET /v1/coops HTTP/1.1\r\nHost: x\r\n${key}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`;
    const answers = await exchange(post + chunked + get('/health'));
    expect(answers.map(({ status }) => status)).toEqual([405, 200, 200]);
  });

  test('one that is malformed ends the connection, and has one answer', async () => {
    const head = `POST /v1/coops HTTP/1.1\r\nHost: x\r\n${key}Transfer-Encoding: chunked\r\n\r\n`;
    const answers = await exchange(`${head}no length\r\n`);
    expect(answers).toHaveLength(1);
    expectRefusal(answers[0], 405);
  });

  test('one that is malformed does not cut off the answer that is being made', async () => {
    const head = `GET /v1/slow HTTP/1.1\r\nHost: x\r\n${key}Transfer-Encoding: chunked\r\n\r\n`;
    const answers = await exchange(`${head}no length\r\n`);
    expect(answers.map(({ status }) => status)).toEqual([200]);
  });
});

test('a request in flight is answered before what follows it on the connection is refused', async () => {
  const answers = await exchange(`GET /v1/slow HTTP/1.1\r\nHost: x\r\n${key}\r\nhello\r\n\r\n`);
  expect(answers.map(({ status }) => status)).toEqual([200, 400]);
  expectRefusal(answers[1]);
});

describe('slow clients', () => {
  test('have seconds, not minutes', () => {
    const { headersTimeout, requestTimeout, timeout } = service.app.server;
    expect(headersTimeout).toBe(10_000);
    expect(requestTimeout).toBe(15_000);
    expect(timeout).toBeGreaterThan(0);
  });

  test('that do not finish their headers are told so, and lose the connection', async () => {
    const { server } = service.app;
    const usual = server.headersTimeout;
    server.headersTimeout = 200;
    try {
      for (const start of ['GET /v1/coops HTTP/1.1\r\nHost: x\r\n', '']) {
        const startedAt = Date.now();
        const socket = connect(port, '127.0.0.1');
        await once(socket, 'connect');
        if (start !== '') socket.write(start);
        const [answer] = parseAnswers(await readToEnd(socket));
        expect(Date.now() - startedAt).toBeLessThan(4_000);
        expect(expectRefusal(answer)).toContain('in time');
      }
    } finally {
      server.headersTimeout = usual;
    }
  });
});
