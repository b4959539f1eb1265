import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { FastifyRequest } from 'fastify';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { forAllTests } from '../support/lifetimes.ts';
import { exchangeBytes, parseResponses, readToEnd } from '../support/network/raw-http.ts';
import { contract, SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { startService, type ServingProcess, type TestService } from '../support/service.ts';

/** Each list has more than sockets buffer, so that a stream that nobody reads is not read to its end either. */
const SOLICITATIONS = 4_000;
const TITLE_BYTES = 6_000;
const CONTRACTS = 120;
const DESCRIPTION_BYTES = 200_000;

const MAX_HELD_BYTES = 8 * 1024 * 1024;

const textOf = (bytes: number): string => 'Asphalt '.repeat(bytes / 8);

/** The server's side of the last connection. */
let connection: Socket;
/** The lines that the server has logged. */
const log: Record<string, unknown>[] = [];
/** The bytes that a test has read for streams. */
let readBytes: number;
/** The pieces that were read, which are empty once their memory was freed. */
let pieces: Uint8Array[];
/** The most that the server held at any time. */
let heldBytes: number;

const service = forAllTests(
  () =>
    startService({
      clock: Date.now,
      catalog: {
        ...SMALL_CATALOG,
        contracts: Array.from({ length: CONTRACTS }, (_, index) => ({
          ...contract(`ctr_${index}`),
          description: textOf(DESCRIPTION_BYTES),
        })),
        solicitations: Array.from({ length: SOLICITATIONS }, (_, index) => ({
          ...solicitation(`sol_${index}`, index + 1),
          title: textOf(TITLE_BYTES),
        })),
      },
      partners: [
        { name: 'acme', everything: true },
        { name: 'other', everything: true },
      ],
      onLog: (line) => log.push(JSON.parse(line) as Record<string, unknown>),
      watch: (database) => ({
        ...database,
        readTexts: async (...query) => {
          const read = await database.readTexts(...query);
          readBytes += read.bytes.length;
          pieces.push(read.bytes);
          // The server holds the bytes that it has read but not yet passed to the system.
          heldBytes = Math.max(heldBytes, readBytes - (connection.bytesWritten - connection.writableLength));
          return read;
        },
      }),
    }),
  120_000,
);
beforeAll(() => watchConnections(service));

function watchConnections({ app }: ServingProcess): void {
  app.server.on('connection', (socket: Socket) => (connection = socket));
}

beforeEach(() => {
  log.length = 0;
  readBytes = 0;
  heldBytes = 0;
  pieces = [];
});

/** Begins a stream, and stops reading once it has begun. */
async function begin(path: string, { url }: ServingProcess = service): Promise<Socket> {
  const { key } = service.partner('acme');
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  await once(socket, 'readable');
  socket.pause();
  const { writableLength } = connection;
  await expect
    .poll(() => connection.writableNeedDrain && connection.writableLength >= writableLength, { timeout: 10_000 })
    .toBe(true);
  return socket;
}

/** Reads the rest of a stream; returns the number of its lines. */
async function readOn(socket: Socket): Promise<number> {
  const [response] = parseResponses(await readToEnd(socket.resume()));
  expect(response?.status).toBe(200);
  return (response?.body.toString().split('\n').length ?? 0) - 1;
}

/** Takes all places among the admitted requests, for other partners; returns what gives them back. */
function takeAllPlaces(): (() => void)[] {
  const { admission } = service.app;
  const taken: (() => void)[] = [];
  for (let id = -1, before = -1; before < taken.length; id -= 1) {
    before = taken.length;
    try {
      for (;;) {
        const request = { partner: { id }, permitHolder: null } as unknown as FastifyRequest;
        admission.enter(request);
        taken.push(() => admission.leave(request));
      }
    } catch {
      // This partner can have no more. The next one can, as long as there are some.
    }
  }
  return taken;
}

const getPage = async () => (await service.get('/v1/coops', { key: service.partner('other').key })).status;

describe('a reader that stops reading', () => {
  test('takes no place among the admitted requests, and is not refused while all are taken', async () => {
    const all = takeAllPlaces();
    expect(await getPage()).toBe(429);
    for (const giveBack of all) giveBack();
    const slow = [await begin('/v1/solicitations?format=ndjson'), await begin('/v1/solicitations?format=csv')];
    const besideThem = takeAllPlaces();
    expect(besideThem.length).toBe(all.length);
    expect(await getPage()).toBe(429);
    const lines = await Promise.all(slow.map(readOn));
    expect(lines).toEqual([SOLICITATIONS, SOLICITATIONS + 1]);
    for (const giveBack of besideThem) giveBack();
    expect(await getPage()).toBe(200);
  });

  test.each([
    ['solicitations', 'ndjson', SOLICITATIONS],
    ['solicitations', 'csv', SOLICITATIONS + 1],
    ['contracts', 'ndjson', CONTRACTS],
    ['contracts', 'csv', CONTRACTS + 1],
  ])('has less than 8 MiB of %s as %s held for it', async (list, format, lines) => {
    const socket = await begin(`/v1/${list}?format=${format}`);
    const readBefore = readBytes;
    expect(heldBytes).toBeLessThan(MAX_HELD_BYTES);
    expect(await readOn(socket)).toBe(lines);
    expect(readBytes).toBeGreaterThan(readBefore + 1_000_000);
    expect(heldBytes).toBeLessThan(MAX_HELD_BYTES);
  });
});

const STREAM = '/v1/solicitations?format=ndjson';

async function startWith(waits: Parameters<TestService['startOther']>[0]): Promise<ServingProcess> {
  const other = await service.startOther(waits);
  watchConnections(other);
  return other;
}

/** How the client of a connection that was stopped sees its end. */
async function endOf(socket: Socket): Promise<{ error: string | undefined; bytes: Buffer }> {
  let error: string | undefined;
  socket.once('error', ({ code }: NodeJS.ErrnoException) => (error = code));
  return { bytes: await readToEnd(socket.resume()), error };
}

describe('a reader of a stream', () => {
  const UNREAD_MS = 2_000;

  test('is cut if it stops reading, and logged', async () => {
    const socket = await begin(STREAM, await startWith({ waits: { unreadMs: UNREAD_MS } }));
    const beganAtMs = performance.now();
    await once(connection, 'close');
    const tookMs = performance.now() - beganAtMs;
    expect(tookMs).toBeGreaterThan(UNREAD_MS / 2);
    expect(tookMs).toBeLessThan(20_000);
    expect((await endOf(socket)).error).toBe('ECONNRESET');
    const cut = log.filter(({ msg }) => msg === 'stream cut');
    expect(cut).toMatchObject([{ partner: 'acme', reason: 'Nothing was read for 2 s.' }]);
    expect(cut[0]?.['requestId']).toMatch(/^req_/);
  });

  test('is served to the end if it pauses again and again for less', async () => {
    const socket = await begin(STREAM, await startWith({ waits: { unreadMs: UNREAD_MS } }));
    const chunks: Buffer[] = [];
    let receivedBytes = 0;
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      receivedBytes += chunk.length;
    });
    for (const untilMs = performance.now() + 1.5 * UNREAD_MS; performance.now() < untilMs;) {
      socket.pause();
      await delay(UNREAD_MS / 5);
      // More than the kernel holds back at once.
      const enough = receivedBytes + 2_500_000;
      socket.resume();
      while (receivedBytes < enough) await once(socket, 'data');
    }
    await once(socket, 'close');
    expect(parseResponses(Buffer.concat(chunks))[0]?.body.toString().split('\n').length).toBe(SOLICITATIONS + 1);
  }, 20_000);
});

test('a shutdown cuts streams and responses that are not read after a while, and logs how many', async () => {
  const drainMs = 1_000;
  const stopping = await startWith({ waits: { drainMs } });
  const stream = await begin(STREAM, stopping);
  const page = await begin('/v1/contracts?limit=100', stopping);
  const beganAtMs = performance.now();
  await stopping.app.close();
  expect(performance.now() - beganAtMs).toBeGreaterThan(drainMs - 100);
  expect(performance.now() - beganAtMs).toBeLessThan(7_000);
  expect((await endOf(stream)).error).toBe('ECONNRESET');
  page.destroy();
  expect(log).toContainEqual(expect.objectContaining({ msg: 'stream cut', reason: 'The service is stopping.' }));
  expect(log).toContainEqual(
    expect.objectContaining({ msg: 'stopping: cut connections that are still in use', streams: 1, others: 1 }),
  );
});

describe('the memory of a piece is freed once it was sent, and not before: the records arrive as they are', () => {
  const ids = Array.from({ length: SOLICITATIONS }, (_, index) => `sol_${index}`).sort();

  afterEach(() => {
    expect(pieces.length).toBeGreaterThan(20);
    expect(pieces.filter(({ length }) => length > 0).length).toBeLessThan(5);
  });

  /** The ids in the lines of a response. Fails unless each record is whole. */
  const idsIn = (body: Buffer): unknown[] =>
    body
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => {
        const { id, title } = JSON.parse(line) as Record<string, unknown>;
        expect(title === textOf(TITLE_BYTES)).toBe(true);
        return id;
      });

  test('to a reader that stops and continues', async () => {
    const socket = await begin(STREAM);
    const [response] = parseResponses(await readToEnd(socket.resume()));
    expect(idsIn(response?.body ?? Buffer.alloc(0))).toEqual(ids);
  });

  test.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
    ['zstd', zstdDecompressSync],
  ])('as %s', async (encoding, decompress) => {
    const { key } = service.partner('acme');
    const request = `GET /v1/solicitations?format=ndjson HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: ${encoding}\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    const [response] = parseResponses(await exchangeBytes(Number(new URL(service.url).port), [request]));
    expect(idsIn(decompress(response?.body ?? ''))).toEqual(ids);
  });
});
