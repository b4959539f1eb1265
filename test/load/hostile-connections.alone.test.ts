import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { heldBy } from '../soak/watch.ts';
import { createClient } from '../support/client.ts';
import { createDatabaseOf } from '../support/database.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { readToEnd } from '../support/network/raw-http.ts';
import { makePartner } from '../support/partners.ts';
import { publishDirectory } from '../support/publishing.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

/** Connections of each kind, some thousands in total. */
const EACH = 400;

/** Fewer of these: each requests megabytes that the server must generate. */
const UNREAD = 20;

/**
 * The time after which all are closed, except keep-alive connections, which are allowed longer. Clients that do not
 * read take longest.
 */
const MAX_OPEN_MS = 70_000;

const MAX_RESPONSE_MS = 5_000;

/** Descriptors that the service opens for itself meanwhile, for example to write usage. */
const OWN_DESCRIPTORS = 5;

const TLS_HELLO = Buffer.from('16030100c8010000c40303', 'hex');

let serving: Serving;
let port: number;
let key: string;

const made = forAllTests(() => createDatabaseOf('sqlite'));
beforeAll(async () => {
  await publishDirectory(made.database);
  ({ key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true }));
  serving = startServing(made.config);
  port = await serving.port();
}, 60_000);
afterAll(() => serving.close());

const descriptors = (): number => heldBy([serving.pid]).descriptors;

type Attacker = ReturnType<typeof attack>;

/** Opens a connection for an attack; its failure is expected. */
function attack(begin: (socket: Socket) => void, reads = true) {
  const socket = connect(port, '127.0.0.1');
  const state = { isOpen: true, firstBytes: '' };
  socket.on('error', () => undefined);
  socket.on('close', () => (state.isOpen = false));
  if (reads) {
    socket.on('data', (chunk: Buffer) => {
      if (state.firstBytes.length < 12) state.firstBytes += chunk.toString('latin1', 0, 12);
    });
  } else {
    socket.pause();
  }
  socket.on('connect', () => begin(socket));
  return { socket, state };
}

/** Sends one byte every 900 ms until the server closes the connection. */
function drip(socket: Socket, bytes: string): void {
  let sent = 0;
  const timer = setInterval(() => socket.write(bytes[(sent += 1) % bytes.length] ?? ''), 900);
  socket.on('close', () => clearInterval(timer));
}

const largePage = (index: number): string =>
  `GET /v1/suppliers?limit=100&updated_since=${new Date(Date.UTC(1990, 0, 1) + index).toISOString()} HTTP/1.1\r\n` +
  `Host: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;

const READS_NOTHING = 'never reads its responses';

const KINDS: Record<string, (index: number) => Attacker> = {
  'sends nothing': () => attack(() => undefined),
  'sends its head a byte a second': () =>
    attack((socket) => {
      socket.write('GET /v1/coops HTTP/1.1\r\nX-Slow: ');
      drip(socket, 'abcdefgh');
    }),
  'sends half a request': () => attack((socket) => socket.write('GET /v1/coops HTT')),
  'half-closes immediately': () => attack((socket) => socket.end('GET /health HTTP/1.1\r\n')),
  'sends its body a byte a second': () =>
    attack((socket) => {
      socket.write(
        `POST /v1/coops HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nAuthorization: Bearer ${key}\r\n\r\n`,
      );
      drip(socket, 'x');
    }),
  'sends garbage': () => attack((socket) => socket.write(randomBytes(2_000))),
  'starts a TLS handshake': () => attack((socket) => socket.write(TLS_HELLO)),
  'sends an endless head': () => attack((socket) => socket.write(`GET / HTTP/1.1\r\nX: ${'x'.repeat(200_000)}`)),
  [READS_NOTHING]: (index) =>
    attack((socket) => {
      // One after the other: most of many concurrent ones would be rejected, leaving little to read.
      let sent = 0;
      const timer = setInterval(() => socket.write(largePage(index * 1_000 + (sent += 1))), 50);
      socket.on('close', () => clearInterval(timer));
    }, false),
};

test(
  'thousands of slow, idle, silent and malformed connections are closed in time while other clients are served',
  { timeout: 150_000 },
  async () => {
    const client = await serving.client();
    const expected = (await client.get('/v1/contracts?limit=50', { key })).body;
    const before = descriptors();
    const startedAtMs = performance.now();
    const attackers = Object.entries(KINDS).map(([kind, begin]) => ({
      kind,
      all: Array.from({ length: kind === READS_NOTHING ? UNREAD : EACH }, (_, index) => begin(index)),
    }));
    while (descriptors() < before + 2 * EACH) await delay(20);
    // Meanwhile, frequent requests on new connections get correct and prompt responses.
    const took: number[] = [];
    let refused = 0;
    let maxMb = 0;
    const open = (): Record<string, number> =>
      Object.fromEntries(
        attackers
          .filter(({ kind }) => kind !== READS_NOTHING)
          .map(({ kind, all }) => [kind, all.filter(({ state }) => state.isOpen).length] as const)
          .filter(([, n]) => n > 0),
      );
    // A client that does not read does not see the close, so look at the server's descriptors.
    while (descriptors() > before + OWN_DESCRIPTORS && performance.now() - startedAtMs < MAX_OPEN_MS) {
      const other = createClient(`http://127.0.0.1:${port}`);
      const sentAtMs = performance.now();
      const { status, body } = await other.get('/v1/contracts?limit=50', { key });
      took.push(performance.now() - sentAtMs);
      other.close();
      if (status === 429) refused += 1;
      else expect({ status, body }).toEqual({ status: 200, body: expected });
      maxMb = Math.max(maxMb, heldBy([serving.pid]).residentMb);
      await delay(100);
    }
    expect(descriptors()).toBeLessThanOrEqual(before + OWN_DESCRIPTORS);
    expect(open()).toEqual({});
    expect(Math.max(...took)).toBeLessThan(MAX_RESPONSE_MS);
    expect(refused).toBeLessThan(took.length / 2);
    expect(maxMb).toBeLessThan(1_000);
    // Every client that sent something got a 400.
    for (const kind of [
      'sends its head a byte a second',
      'sends garbage',
      'starts a TLS handshake',
      'sends an endless head',
    ]) {
      const responses =
        attackers.find((attacker) => attacker.kind === kind)?.all.map(({ state }) => state.firstBytes) ?? [];
      expect([...new Set(responses)], kind).toEqual(['HTTP/1.1 400']);
    }
    for (const { all } of attackers) for (const { socket } of all) socket.destroy();
  },
);

test(
  'thousands of requests pipelined on one connection are served in order and delay no other client',
  { timeout: 90_000 },
  async () => {
    const client = await serving.client();
    const requests = 3_000;
    const head = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    const { socket, state } = attack((opened) =>
      opened.write(
        Array.from(
          { length: requests },
          (_, index) => `GET /v1/contracts?limit=1&updated_since=1990-01-01T00:00:0${index % 10}Z ${head}`,
        ).join('') + `GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      ),
    );
    const received = readToEnd(socket);
    let longestMs = 0;
    while (state.isOpen) {
      const sentAtMs = performance.now();
      expect((await client.get('/health')).status).toBe(200);
      longestMs = Math.max(longestMs, performance.now() - sentAtMs);
      await delay(20);
    }
    const statuses = (await received).toString('latin1').match(/HTTP\/1\.1 \d+/g) ?? [];
    expect(statuses).toHaveLength(requests + 1);
    expect(statuses.at(-1)).toBe('HTTP/1.1 200');
    expect([...new Set(statuses)].sort().filter((status) => !/ (200|429)$/.test(status))).toEqual([]);
    expect(longestMs).toBeLessThan(MAX_RESPONSE_MS);
  },
);
