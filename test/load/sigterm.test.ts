import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { databaseForAllTests } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { readReadiness } from '../support/process/administrator.ts';
import { createClient } from '../support/client.ts';
import { makePartner } from '../support/partners.ts';
import { publishDirectory } from '../support/publishing.ts';
import { startServing } from '../support/serving-process.ts';

/** Ten seconds are guaranteed; the rest is for a busy machine. */
const ENDED_MS = 12_000;

let key: string;

const made = databaseForAllTests();
const opened = forEachTest(() => new AsyncDisposableStack());
beforeAll(async () => {
  await publishDirectory(made.database);
  ({ key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true }));
}, 60_000);

const timestamp = (index: number): string => new Date(Date.UTC(1990, 0, 1) + index).toISOString();

/**
 * Requests a page, and reads it slowly.
 *
 * @returns once the response has begun; `arrivedCompletely` resolves to whether it arrived completely.
 */
async function readSlowly(port: number, index: number): Promise<{ arrivedCompletely: Promise<boolean> }> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(
    `GET /v1/suppliers?limit=100&updated_since=${timestamp(index)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  );
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    socket.pause();
    setTimeout(() => socket.resume(), 300);
  });
  const isComplete = (): boolean => {
    const [head = '', body = ''] = received.split('\r\n\r\n', 2);
    return body.length > 0 && body.length === Number(/content-length: (\d+)/i.exec(head)?.[1]);
  };
  while (received === '' && !socket.closed) await delay(5);
  const readAll = async (): Promise<boolean> => {
    while (!isComplete() && !socket.closed) await delay(20);
    socket.destroy();
    return isComplete();
  };
  return { arrivedCompletely: readAll() };
}

test(
  'SIGTERM under load fails no request, even of slow readers, and the service exits in time',
  { timeout: 90_000 },
  async () => {
    const serving = opened.use(startServing(made.config, { PDS_LOG_LEVEL: 'info' }));
    const port = await serving.port();
    const failures: string[] = [];
    let responseCount = 0;
    const clients = Array.from({ length: 30 }, async (_, index) => {
      const client = createClient(`http://127.0.0.1:${port}`);
      try {
        for (let sent = 0; ; sent += 1) {
          const path = `/v1/contracts?limit=20&updated_since=${timestamp(index * 100_000 + sent)}`;
          const { status, headers } = await client.get(path, { key });
          if (status !== 200 && status !== 429) failures.push(String(status));
          responseCount += 1;
          if (headers.connection === 'close') return;
        }
      } catch (error) {
        failures.push(String(error));
      } finally {
        client.close();
      }
    });
    while (responseCount < 500) await delay(10);
    const slow = await Promise.all(Array.from({ length: 10 }, (_, index) => readSlowly(port, index)));
    const signalledAtMs = performance.now();
    serving.kill('SIGTERM');
    await Promise.all(clients);
    expect(await serving.exited).toEqual([0, null]);
    expect(performance.now() - signalledAtMs).toBeLessThan(ENDED_MS);
    expect(failures).toEqual([]);
    expect(new Set(await Promise.all(slow.map(({ arrivedCompletely }) => arrivedCompletely)))).toEqual(new Set([true]));
  },
);

test(
  'SIGTERM fails no request on new connections until the load balancer stops sending them',
  { timeout: 60_000 },
  async () => {
    const serving = opened.use(startServing(made.config, { PDS_LOG_LEVEL: 'info' }));
    const [port, admin] = [await serving.port(), await serving.adminPort()];
    const failures: string[] = [];
    let responseCount = 0;
    let isInLoadBalancer = true;
    const clients = Array.from({ length: 24 }, async () => {
      while (isInLoadBalancer) {
        // Over a new connection, which the client would keep alive if it could.
        const client = createClient(`http://127.0.0.1:${port}`);
        try {
          const { status } = await client.get(responseCount % 2 === 0 ? '/v1/coops' : '/health', { key });
          if (status !== 200) failures.push(String(status));
        } catch (error) {
          failures.push(String(error));
        }
        client.close();
        responseCount += 1;
      }
    });
    while (responseCount < 300) await delay(10);
    serving.kill('SIGTERM');
    while ((await readReadiness(admin)).status === 200) await delay(5);
    const before = responseCount;
    // A proxy that polls readiness needs a moment to react.
    await delay(200);
    isInLoadBalancer = false;
    await Promise.all(clients);
    expect(failures).toEqual([]);
    expect(responseCount).toBeGreaterThan(before);
    expect(await serving.exited).toEqual([0, null]);
  },
);
