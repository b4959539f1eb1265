import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/free-port.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

/** The duration of a start on an idle machine, plus a margin. */
const START_MS = 900;

/** How long workers can outlive a killed primary process. */
const ORPHANS_END_MS = 10_000;

let made: TestDatabase;
const started: Serving[] = [];

beforeAll(async () => {
  made = await createTestDatabase();
});
afterEach(async () => {
  for (const serving of started) serving.kill('SIGKILL');
  await Promise.all(started.splice(0).map(({ closed }) => closed));
});
afterAll(() => made.drop());

function serve(...options: string[]): Serving {
  const serving = startServing(made.config, {}, ...options);
  started.push(serving);
  return serving;
}

/** The child processes of a process (Linux only). */
function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

/** Opens a connection and sends half a request: a shutdown waits two seconds for the rest. */
async function sendHalf(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write('GET /health HTTP/1.1\r\nHost: x\r\n');
  // Gives the server time to read it.
  await delay(200);
  return socket;
}

describe('an unusable host is reported with what to do, and exit code 1', () => {
  test.each([
    [
      '192.0.2.1',
      /^error: cannot open the port of the API: listen EADDRNOTAVAIL: address not available 192\.0\.2\.1(:\d+)?\. Choose another address with PDS_HOST \(or --host\)$/m,
    ],
    ['nowhere.invalid', /^error: cannot resolve the host "nowhere\.invalid"\. Correct it with PDS_HOST or --host$/m],
  ])('%s', async (host, message) => {
    for (const workers of ['1', '2']) {
      const serving = serve('--host', host, '--workers', workers);
      expect(await serving.exited).toEqual([1, null]);
      await serving.closed;
      expect(serving.output()).toMatch(message);
      expect(serving.output().match(/error:/g)).toHaveLength(1);
    }
  });
});

test('a port in use is reported with its setting and what to do, and nothing else, also by workers and a demo', async () => {
  const first = serve();
  const port = await first.port();
  for (const option of ['--workers=1', '--workers=2', '--demo']) {
    const second = serve('--port', String(port), option);
    expect(await second.exited).toEqual([1, null]);
    await second.closed;
    expect(second.output()).toBe(
      `error: cannot open the port of the API: listen EADDRINUSE: address already in use 127.0.0.1:${port}. ` +
        'Stop the process that uses it, such as another "pds serve", or choose another with PDS_PORT (or --port)\n',
    );
  }
});

test('a second service on the machine is told that it needs both ports, and starts with both options', async () => {
  const first = serve();
  await first.port();
  const adminPort = await first.adminPort();
  const second = serve('--admin-port', String(adminPort));
  expect(await second.exited).toEqual([1, null]);
  await second.closed;
  expect(second.output()).toContain(
    `error: cannot open the port of the admin server: listen EADDRINUSE: address already in use 127.0.0.1:${adminPort}. ` +
      'Stop the process that uses it, such as another "pds serve", or choose another with PDS_ADMIN_PORT (or ' +
      '--admin-port). A second service also needs its own PDS_PORT (or --port)\n',
  );
  const third = serve('--port', '0', '--admin-port', '0');
  expect(await third.adminPort()).not.toBe(adminPort);
});

describe('SIGUSR1 opens no inspector, and the service continues', () => {
  test.each([
    ['1', ''],
    ['2', ''],
    // As the systemd unit and npm start it.
    ['1', '--disable-sigusr1'],
  ])('with --workers %s %s', async (workers, option) => {
    const inspector = await findFreePort();
    const options = `${option} --inspect-port=${inspector}`.trim();
    const serving = startServing(made.config, { NODE_OPTIONS: options }, '--workers', workers);
    started.push(serving);
    const port = await serving.port();
    if (workers !== '1') await serving.said('all workers are serving');
    const pids = [serving.pid, ...childrenOf(serving.pid)];
    expect(pids).toHaveLength(workers === '1' ? 1 : 1 + Number(workers));
    for (const pid of pids) process.kill(pid, 'SIGUSR1');
    // An inspector listens within about 10 ms; twenty responses take longer.
    for (let request = 0; request < 20; request += 1) {
      expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
      await delay(10);
    }
    for (const offset of pids.keys()) {
      await expect(fetch(`http://127.0.0.1:${inspector + offset}/json`)).rejects.toThrow('fetch failed');
    }
    expect(serving.output()).not.toContain('Debugger listening');
    expect([serving.pid, ...childrenOf(serving.pid)]).toEqual(pids);
  });
});

describe('a signal during startup exits cleanly, and the next start can use the port', () => {
  const seed = Date.now() % 1_000_000;
  test.each(['1', '3'])(
    `with --workers %s (seed ${seed})`,
    async (workers) => {
      const port = String(await findFreePort());
      for (const [index, delayMs] of fc.sample(fc.integer({ min: 0, max: START_MS }), { numRuns: 5, seed }).entries()) {
        const serving = serve('--port', port, '--workers', workers);
        await delay(delayMs);
        const signal = index % 2 === 0 ? 'SIGTERM' : 'SIGINT';
        serving.kill(signal);
        // Before the process installs its signal handlers, the signal simply terminates it.
        expect([
          [0, null],
          [null, signal],
        ]).toContainEqual(await serving.exited);
        await serving.closed;
        expect(serving.output()).not.toMatch(/error|Error/);
      }
      const next = serve('--port', port, '--workers', workers);
      await next.port();
    },
    60_000,
  );
});

describe('a second signal ends immediately what the first lets complete', () => {
  test.each(['1', '2'])('with --workers %s', async (workers) => {
    const serving = serve('--workers', workers);
    const port = await serving.port();
    if (workers !== '1') await serving.said('all workers are serving');
    const socket = await sendHalf(port);
    serving.kill('SIGTERM');
    await serving.said('"msg":"stopping"');
    // By its response the process knows that this line was written, and writes the next one as it exits.
    await fetch(`http://127.0.0.1:${await serving.adminPort()}/livez`);
    serving.kill('SIGTERM');
    expect(await serving.exited).toEqual([1, null]);
    await serving.closed;
    expect(serving.output()).toContain('second SIGTERM, exiting');
    socket.destroy();
  });
});

test('workers whose primary process was killed complete the requests in flight, exit, and free the port', async () => {
  const port = await findFreePort();
  const serving = serve('--workers', '3', '--port', String(port));
  await serving.said('all workers are serving');
  const silent = await Promise.all([sendHalf(port), sendHalf(port)]);
  // Sends the rest while its worker is shutting down.
  const finishing = await sendHalf(port);
  const answered = once(finishing, 'data') as Promise<[Buffer]>;
  const killedAt = performance.now();
  serving.kill('SIGKILL');
  await delay(300);
  finishing.write('\r\n');
  expect(String((await answered)[0])).toMatch(/^HTTP\/1\.1 200 OK/);
  await serving.closed;
  expect(performance.now() - killedAt).toBeLessThan(ORPHANS_END_MS);
  const next = serve('--port', String(port));
  expect(await next.port()).toBe(port);
  for (const socket of [finishing, ...silent]) socket.destroy();
});
