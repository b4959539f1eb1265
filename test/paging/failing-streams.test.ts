import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import { hooked } from '../support/hooked.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { exchangeBytes, parseResponses, readToEnd } from '../support/network/raw-http.ts';
import { testWith } from '../support/installed-programs.ts';
import { newFolder } from '../support/new-folder.ts';
import { contract, SMALL_CATALOG } from '../support/publishing.ts';
import { startService } from '../support/service.ts';

/** Together more than sockets buffer, compressed too. */
const CONTRACTS = 2_500;
const DESCRIPTION_BYTES = 6_000;

const clock = Date.now;
const idOf = (index: number): string => `ctr_${String(index).padStart(5, '0')}`;

let key: string;
/** The statements of a test, and what to do before one is run. */
let statements: string[];
let onStatement: (name: string) => Promise<unknown> | undefined;

const service = forAllTests(
  () =>
    startService({
      clock,
      catalog: {
        ...SMALL_CATALOG,
        contracts: Array.from({ length: CONTRACTS }, (_, index) => ({
          ...contract(idOf(index)),
          // One word: thousands of words a record would take the index most of a minute.
          description: randomBytes(DESCRIPTION_BYTES).toString('hex'),
        })),
      },
      partners: [{ name: 'acme', everything: true }],
      watch: (database) =>
        hooked(database, {
          before: (name) => {
            statements.push(name);
            return onStatement(name);
          },
        }),
    }),
  120_000,
);
const port = (): number => Number(new URL(service.url).port);

beforeEach(async () => {
  statements = [];
  onStatement = () => undefined;
  ({ key } = await issueKey(service.database, clock, 'acme', { environment: 'test', lifetimeMs: null }));
});

async function revoke(): Promise<void> {
  await revokeKey(service.database, clock, key.split('_')[2] ?? '');
  await service.noticeChanges();
}

const isOfPiece = (name: string): boolean => /^contracts by (list|range)$/.test(name);

/** Revokes the key before the third piece is read. Resolves once it is revoked. */
function revokeBetweenPieces(): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  let pieces = 0;
  onStatement = (name) => {
    pieces += isOfPiece(name) ? 1 : 0;
    return isOfPiece(name) && pieces === 3 ? revoke().then(resolve) : undefined;
  };
  return promise;
}

/** Sends a request whose response is not read. */
function send(headers = ''): Socket {
  const socket = connect(port(), '127.0.0.1').pause();
  socket.write(`GET /v1/contracts?format=ndjson HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${headers}\r\n`);
  return socket;
}

describe.each(['identity', 'gzip', 'br', 'zstd'])('a stream in %s', (encoding) => {
  test('is never ended if it cannot be completed, also for a slow reader: its connection is reset', async () => {
    const revoked = revokeBetweenPieces();
    const socket = send(`Accept-Encoding: ${encoding}\r\n`);
    const failed = new Promise<Error>((resolve) => socket.once('error', resolve));
    await revoked;
    const bytes = await readToEnd(socket.resume());
    expect(await failed).toMatchObject({ code: 'ECONNRESET' });
    expect(bytes.toString('latin1', 0, 500)).toMatch(/^HTTP\/1\.1 200 [^]*transfer-encoding: chunked\r\n/i);
    expect(parseResponses(bytes, () => false, { mayBeCut: true })).toEqual([]);
    expect(bytes.toString('latin1').endsWith('\r\n0\r\n\r\n')).toBe(false);
    expect(bytes.includes('unauthorized')).toBe(false);
  });

  test('is whole if nothing ends it', async () => {
    const bytes = await readToEnd(send(`Accept-Encoding: ${encoding}\r\nConnection: close\r\n`).resume());
    const [response] = parseResponses(bytes);
    expect(response?.headers.get('content-encoding')).toBe(encoding === 'identity' ? undefined : encoding);
    expect(response?.body.length).toBeGreaterThan(CONTRACTS * DESCRIPTION_BYTES);
  });
});

describe('a stream that is cut', () => {
  testWith('curl')('is an error of curl, which leaves no file', async () => {
    void revokeBetweenPieces();
    const folder = newFolder();
    const file = join(folder, 'contracts.ndjson');
    const header = `Authorization: Bearer ${key}`;
    const url = `${service.url}/v1/contracts?format=ndjson`;
    const curl = spawn('curl', ['-sSf', '--compressed', '--remove-on-error', '-o', file, '-H', header, url]);
    const [code] = (await once(curl, 'exit')) as [number];
    // A transfer that was cut, or a connection that was reset.
    expect([18, 56]).toContain(code);
    expect(existsSync(file)).toBe(false);
  });

  test('is an error of fetch', async () => {
    void revokeBetweenPieces();
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${service.url}/v1/contracts?format=csv`, { headers });
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  testWith('python').each(['response.read()', 'for line in response: pass'])(
    'is an error of Python: %s',
    async (read) => {
      void revokeBetweenPieces();
      const program = [
        'import sys, urllib.request',
        'url, key = sys.argv[1:]',
        'request = urllib.request.Request(url, headers={"Authorization": "Bearer " + key})',
        'response = urllib.request.urlopen(request)',
        read,
      ].join('\n');
      const python = spawn('python3', ['-c', program, `${service.url}/v1/contracts?format=csv`, key]);
      expect(await once(python, 'exit')).toEqual([1, null]);
    },
  );
});

test.each(['ndjson', 'csv'])('an error of the first piece of %s has a response of its own', async (format) => {
  const get = () =>
    service.get(`/v1/contracts?format=${format}&limit=2`, { key, headers: { 'accept-encoding': 'zstd' } });
  onStatement = (name) => (isOfPiece(name) ? Promise.reject(new Error('down')) : undefined);
  const { status, headers, body } = await get();
  expect([status, headers['content-type']]).toEqual([500, 'application/json; charset=utf-8']);
  expect(JSON.parse(body)).toMatchObject({ error: { code: 'internal_error' } });
  const names = ['content-encoding', 'content-disposition', 'etag', 'link', 'x-sync-watermark', 'transfer-encoding'];
  expect(names.filter((name) => headers[name] !== undefined)).toEqual([]);
  onStatement = () => undefined;
  expect((await get()).status).toBe(200);
});

test.each([
  ['HTTP/1.0', ''],
  ['HTTP/1.1', 'Via: HTTP/1.0 nginx\r\n'],
  ['HTTP/1.1', 'Via: 1.1 inner, 1.0 outer (old)\r\n'],
])('a client that cannot see a cut is refused a stream: %s %s', async (version, via) => {
  const get = async (query: string, headers = '') => {
    const head = `GET /v1/coops${query} ${version}\r\nHost: x\r\nConnection: close\r\n`;
    const bytes = await exchangeBytes(port(), [`${head}Authorization: Bearer ${key}\r\n${via}${headers}\r\n`]);
    return parseResponses(bytes)[0];
  };
  for (const refused of [
    await get('?format=csv'),
    await get('?format=ndjson'),
    await get('', 'Accept: text/csv\r\n'),
  ]) {
    expect(refused?.status).toBe(400);
    expect(String(refused?.body)).toContain('A list is streamed over HTTP/1.1 only');
  }
  expect([(await get(''))?.status, (await get('?format=json'))?.status]).toEqual([200, 200]);
});

test('a client of HTTP/1.1 behind proxies is served streams', async () => {
  const headers = { via: '1.1 inner, HTTP/1.1 nginx' };
  expect((await service.get('/v1/coops?format=csv', { key, headers })).status).toBe(200);
});

test('HEAD reads no record, and nothing of the index', async () => {
  await service.get('/v1/coops', { key });
  statements.length = 0;
  for (const format of ['ndjson', 'csv']) {
    const { status } = await service.get(`/v1/contracts?format=${format}`, { key, method: 'HEAD' });
    expect(status).toBe(200);
  }
  expect(new Set(statements)).toEqual(new Set(['head']));
});

test('a client that leaves before its stream begins counts as none of its two', async () => {
  for (let time = 0; time < 3; time += 1) {
    const socket = send();
    await new Promise<void>((resolve) => {
      onStatement = async (name) => {
        if (!isOfPiece(name)) return;
        socket.destroy();
        await once(socket, 'close');
        // By the time that it has responded to another client, the server has noticed.
        onStatement = () => undefined;
        await service.get('/v1/coops', { key });
        resolve();
      };
    });
  }
  await expect
    .poll(async () => (await service.get('/v1/contracts?format=csv&limit=1', { key })).status, { timeout: 5_000 })
    .toBe(200);
});
