import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { databaseForAllTests } from '../support/database.ts';
import { findFreePort } from '../support/free-port.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

/** The duration of a start on an idle machine, plus a margin. */
const START_MS = 900;

const made = databaseForAllTests();
const opened = forEachTest(() => new AsyncDisposableStack());

const serveWith = (environment: Record<string, string>, ...options: string[]): Serving =>
  opened.use(startServing(made.config, environment, ...options));

const serve = (...options: string[]): Serving => serveWith({}, ...options);

/** The output of a service that must fail to start. */
async function refusalOf(serving: Serving): Promise<string> {
  expect(await serving.exited).toEqual([1, null]);
  await serving.closed;
  return serving.output();
}

describe('an unusable host is reported with what to do, and exit code 1', () => {
  test.each([
    [
      '192.0.2.1',
      /^error: cannot open the port of the API: listen EADDRNOTAVAIL: address not available 192\.0\.2\.1(:\d+)?\. Choose another address with PDS_HOST \(or --host\)$/m,
    ],
    ['nowhere.invalid', /^error: cannot resolve the host "nowhere\.invalid"\. Correct it with PDS_HOST or --host$/m],
  ])('%s', async (host, message) => {
    for (const options of [[], ['--reuse-port']]) {
      const output = await refusalOf(serve('--host', host, ...options));
      expect(output).toMatch(message);
      expect(output.match(/error:/g)).toHaveLength(1);
    }
  });
});

test('a port in use is reported with its setting and what to do, and nothing else, also by a demo', async () => {
  const port = await serve().port();
  for (const options of [[], ['--demo']])
    expect(await refusalOf(serve('--port', String(port), ...options))).toBe(inUse(port));
});

const inUse = (port: number): string =>
  `error: cannot open the port of the API: listen EADDRINUSE: address already in use 127.0.0.1:${port}. ` +
  'Stop the process that uses it, such as another "pds serve", or choose another with PDS_PORT (or --port). ' +
  'Several services of one user share a port if each has PDS_REUSE_PORT=true (or --reuse-port)\n';

describe('services share a port', () => {
  test('only if each of them has --reuse-port', async () => {
    const port = await findFreePort();
    const options = ['--port', String(port)];
    await serve('--reuse-port', ...options).port();
    expect(await serve('--reuse-port', ...options).port()).toBe(port);
    expect(await refusalOf(serve(...options))).toBe(inUse(port));
  });

  test('and none with a service that does not', async () => {
    const port = await serve().port();
    expect(await refusalOf(serve('--port', String(port), '--reuse-port'))).toContain(inUse(port));
  });

  test('except on a system without shared ports, which the message of a start says before anything is created', async () => {
    // Such as macOS and Windows: the error is libuv's.
    const preload = `
      import { Server } from 'node:net';
      const { listen } = Server.prototype;
      Server.prototype.listen = function (options, ...rest) {
        if (options?.reusePort !== true) return listen.call(this, options, ...rest);
        const error = new Error('listen ENOTSUP: operation not supported on socket 127.0.0.1');
        process.nextTick(() => this.emit('error', Object.assign(error, { code: 'ENOTSUP', syscall: 'listen' })));
        return this;
      };`;
    const environment = {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}`,
      PDS_DATABASE_URL: 'sqlite:/nowhere/pds.sqlite',
    };
    expect(await refusalOf(serveWith(environment, '--reuse-port'))).toBe(
      'error: cannot open the port of the API: listen ENOTSUP: operation not supported on socket 127.0.0.1. Processes ' +
        'cannot share a port on this system: start one, without PDS_REUSE_PORT (or --reuse-port)\n',
    );
  });
});

test('a second service on the machine is told that it needs both ports, and starts with both options', async () => {
  const first = serve();
  await first.port();
  const adminPort = await first.adminPort();
  expect(await refusalOf(serve('--admin-port', String(adminPort)))).toContain(
    `error: cannot open the port of the admin server: listen EADDRINUSE: address already in use 127.0.0.1:${adminPort}. ` +
      'Stop the process that uses it, such as another "pds serve", or choose another with PDS_ADMIN_PORT (or ' +
      '--admin-port). A second service also needs its own PDS_PORT (or --port), or PDS_REUSE_PORT=true (or --reuse-port)\n',
  );
  const third = serve('--port', '0', '--admin-port', '0');
  expect(await third.adminPort()).not.toBe(adminPort);
});

describe('SIGUSR1 opens no inspector, and the service continues', () => {
  // With the option as the systemd unit and npm start it.
  test.each(['', '--disable-sigusr1'])('with "%s"', async (option) => {
    const inspector = await findFreePort();
    const options = `${option} --inspect-port=${inspector}`.trim();
    const serving = serveWith({ NODE_OPTIONS: options });
    const port = await serving.port();
    serving.kill('SIGUSR1');
    // An inspector listens within about 10 ms; twenty responses take longer.
    for (let request = 0; request < 20; request += 1) {
      expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
      await delay(10);
    }
    await expect(fetch(`http://127.0.0.1:${inspector}/json`)).rejects.toThrow('fetch failed');
    expect(serving.output()).not.toContain('Debugger listening');
  });
});

const seed = Date.now() % 1_000_000;
test(`a signal during startup exits cleanly, and the next start can use the port (seed ${seed})`, async () => {
  const port = String(await findFreePort());
  for (const [index, delayMs] of fc.sample(fc.integer({ min: 0, max: START_MS }), { numRuns: 5, seed }).entries()) {
    const serving = serve('--port', port);
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
  await serve('--port', port).port();
}, 60_000);

test('a second signal ends immediately what the first lets complete', async () => {
  const serving = serve();
  const socket = connect(await serving.port(), '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  // Half a request: a shutdown waits two seconds for the rest.
  socket.write('GET /health HTTP/1.1\r\nHost: x\r\n');
  // Gives the server time to read it.
  await delay(200);
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
