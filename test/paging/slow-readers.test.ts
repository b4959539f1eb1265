import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { FastifyRequest } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { exchangeBytes, parseResponses, readToEnd } from '../support/network/raw-http.ts';
import { contract, SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { startService, type TestService } from '../support/service.ts';

/** Each list has more than sockets buffer, so that a stream that nobody reads is not read to its end either. */
const SOLICITATIONS = 4_000;
const TITLE_BYTES = 6_000;
const CONTRACTS = 120;
const DESCRIPTION_BYTES = 200_000;

const MAX_HELD_BYTES = 8 * 1024 * 1024;

const textOf = (bytes: number): string => 'Asphalt '.repeat(bytes / 8);

let service: TestService;
/** The server's side of the last connection. */
let connection: Socket;
/** What was read for streams in a test, in bytes. */
let readBytes: number;
/** The pieces that were read, which are empty once their memory was freed. */
let pieces: Uint8Array[];
/** The most that the server held at any time. */
let heldBytes: number;

beforeAll(async () => {
  service = await startService({
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
    watch: (database) => ({
      ...database,
      readTexts: async (...query) => {
        const read = await database.readTexts(...query);
        readBytes += read.bytes.length;
        pieces.push(read.bytes);
        // What is not on the way to the reader is here.
        heldBytes = Math.max(heldBytes, readBytes - (connection.bytesWritten - connection.writableLength));
        return read;
      },
    }),
  });
  service.app.server.on('connection', (socket: Socket) => (connection = socket));
}, 120_000);
afterAll(() => service.close());

beforeEach(() => {
  readBytes = 0;
  heldBytes = 0;
  pieces = [];
});

/** Begins a stream, and stops reading once it has begun. */
async function begin(path: string): Promise<Socket> {
  const { key } = service.partner('acme');
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  await once(socket, 'readable');
  socket.pause();
  const { writableLength } = connection;
  await expect.poll(() => connection.writableNeedDrain && connection.writableLength >= writableLength).toBe(true);
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

  test('to a reader that stops and goes on', async () => {
    const socket = await begin('/v1/solicitations?format=ndjson');
    const chunks: Buffer[] = [];
    for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
    expect(idsIn(parseResponses(Buffer.concat(chunks))[0]?.body ?? Buffer.alloc(0))).toEqual(ids);
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
