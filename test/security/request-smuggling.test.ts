import { beforeAll, describe, expect, test } from 'vitest';
import { createTestApp } from '../http/test-app.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { exchangeBytes, parseResponses, type RawResponse } from '../support/network/raw-http.ts';

let port: number;
let key: string;

const service = forAllTests(createTestApp);
beforeAll(async () => {
  port = await service.listen();
  key = `Authorization: Bearer ${service.key}\r\n`;
});

async function exchange(bytes: string): Promise<RawResponse[]> {
  return parseResponses(await exchangeBytes(port, [bytes]));
}

/** A request hidden behind another, in the hope that two programs disagree on the end of the first. */
const HIDDEN = 'GET /v1/lead-entities HTTP/1.1\r\nHost: hidden\r\n\r\n';

/** Requests whose end is ambiguous: a proxy in front of this service could read it either way. */
const AMBIGUOUS: [what: string, headers: string, body: string][] = [
  ['a length and chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'],
  ['chunks and a length', 'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', '0\r\n\r\n'],
  ['two lengths', 'Content-Length: 0\r\nContent-Length: 5\r\n', ''],
  ['two equal lengths', 'Content-Length: 5\r\nContent-Length: 5\r\n', 'hello'],
  ['a list of lengths', 'Content-Length: 5, 5\r\n', 'hello'],
  ['a length with a sign', 'Content-Length: +5\r\n', 'hello'],
  ['a negative length', 'Content-Length: -5\r\n', ''],
  ['a length in hexadecimal', 'Content-Length: 0x5\r\n', 'hello'],
  ['a length with a space in it', 'Content-Length: 1 0\r\n', ''],
  ['a length beyond 2^64', 'Content-Length: 99999999999999999999\r\n', ''],
  ['a space before the colon', 'Content-Length : 5\r\n', 'hello'],
  ['a space before the colon of chunks', 'Transfer-Encoding : chunked\r\n', '0\r\n\r\n'],
  ['a folded header', 'Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n'],
  ['a folded header of another name', 'X-Folded: a\r\n b\r\n', ''],
  ['a header that begins with a space', ' Content-Length: 5\r\n', 'hello'],
  ['an unknown encoding after chunked', 'Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'],
  ['an unknown encoding', 'Transfer-Encoding: xchunked\r\n', ''],
  ['two encodings', 'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n', '0\r\n\r\n'],
  ['a vertical tab', 'Transfer-Encoding:\x0bchunked\r\n', '0\r\n\r\n'],
  ['a bare line feed', 'X-A: b\nContent-Length: 5\r\n', 'hello'],
  ['a bare carriage return', 'X-A: b\rContent-Length: 5\r\n', 'hello'],
  ['a NUL', 'X-A: \0\r\n', ''],
  ['a header name with a space', 'Content Length: 5\r\n', 'hello'],
];

describe('a request whose end is ambiguous is rejected, and no request is read after it:', () => {
  test.each(AMBIGUOUS)('%s', async (_case, headers, body) => {
    for (const method of ['GET', 'POST']) {
      const responses = await exchange(
        `${method} /v1/coops HTTP/1.1\r\nHost: x\r\n${key}${headers}\r\n${body}${HIDDEN}`,
      );
      // Either the request is rejected, or it gets a response after which the connection closes.
      expect(responses).toHaveLength(1);
      expect([400, 405]).toContain(responses[0]?.status);
      expect(responses[0]?.headers.get('connection')).toBe('close');
    }
  });
});

test('malformed chunks end the connection', async () => {
  const chunks = [
    '5;x="\r\nhello\r\n0\r\n\r\n',
    '0x5\r\nhello\r\n0\r\n\r\n',
    '5\nhello\n0\n\n',
    'fffffffffffffffff\r\n',
    '-1\r\n\r\n',
    '5\r\nhelloX\r\n0\r\n\r\n',
  ];
  for (const chunk of chunks) {
    const head = `GET /v1/coops HTTP/1.1\r\nHost: x\r\n${key}Transfer-Encoding: chunked\r\n\r\n`;
    const responses = await exchange(head + chunk + HIDDEN);
    expect(
      responses.map(({ status }) => status),
      chunk,
    ).toEqual([200]);
  }
});

test('pipelined requests get one response each, whatever their bodies contain', async () => {
  const length = `GET /v1/coops HTTP/1.1\r\nHost: x\r\n${key}Content-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`;
  const chunked = `GET /v1/coops HTTP/1.1\r\nHost: x\r\n${key}Transfer-Encoding: chunked\r\n\r\n${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`;
  const last = 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  const responses = await exchange(length + chunked + HIDDEN + last);
  // On its own, the hidden request has no key.
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 401, 200]);
});

test('nothing that a client sends becomes a header or a response of its own', async () => {
  const injected = '%0d%0aX-Injected:%20yes%0d%0a%0d%0aHTTP/1.1%20200%20OK%0d%0a%0d%0a<script>';
  const targets = [
    ...[`/v1/contracts/${injected}`, `/v1/coops?cursor=${injected}`, `/v1/contracts?q=${injected}`],
    ...[`/v1/coops?${injected}=1`, `/v1/coops?limit=${injected}`, `/${injected}`, `/v1/${injected}`],
    ...[`/v1/contracts?lead_entity=${injected}`, `/v1/suppliers?state=${injected}`, `http://${injected}/v1/coops`],
  ];
  for (const target of targets) {
    for (const headers of ['', `X-Request-ID: a\r\nIf-None-Match: ${injected}\r\nAccept-Encoding: ${injected}\r\n`]) {
      const [response, ...others] = await exchange(
        `GET ${target} HTTP/1.1\r\nHost: ${injected}\r\nConnection: close\r\n${key}${headers}\r\n`,
      );
      expect(others).toEqual([]);
      expect(response?.headers.has('x-injected'), target).toBe(false);
      expect(response?.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect([...(response?.headers.values() ?? [])].join('\n')).not.toContain('njected');
    }
  }
});
