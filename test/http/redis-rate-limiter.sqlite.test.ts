import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect } from 'vitest';
import { databaseForAllTests } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { makeCertificates } from '../support/network/certificates.ts';
import { runUntilClosed, send, sendToEach } from '../support/network/counting-clients.ts';
import { findFreePort } from '../support/free-port.ts';
import { testWith } from '../support/installed-programs.ts';
import { makePartner } from '../support/partners.ts';
import { startRedis } from '../support/redis/redis-server.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

const test = testWith('redis', 'openssl');

const ALONE = 'Redis does not count requests';
const AGAIN = 'Redis counts requests again';
const SECRET = 'hunter2/with:signs';

const QUOTA = 60;

let services: Serving[];
let partners = 0;

const made = databaseForAllTests();

const redis = forEachTest(() => startRedis(() => ['--requirepass', SECRET]));
const opened = forEachTest(() => new AsyncDisposableStack());
beforeEach(() => {
  services = [];
});

/** The key of a new partner. */
async function makeKey(requestsPerMinute: number): Promise<string> {
  const name = `partner-${(partners += 1)}`;
  return (await makePartner(made.database, Date.now, { name, everything: true, requestsPerMinute })).key;
}

function serve(environment: Record<string, string> = {}, ...options: string[]): Serving {
  const redisUrl = `redis://:${encodeURIComponent(SECRET)}@127.0.0.1:${redis.port}/2`;
  const settings = { PDS_REDIS_URL: redisUrl, PDS_LOG_LEVEL: 'trace', ...environment };
  const serving = opened.use(startServing(made.config, settings, ...options));
  services.push(serving);
  return serving;
}

/** Starts all services, two with a port each and two on one port; returns their three ports once all of them count. */
async function serveAll(): Promise<number[]> {
  const shared = ['--reuse-port', '--port', String(await findFreePort())];
  const all = [serve(), serve(), serve({}, ...shared), serve({}, ...shared)];
  const ports = await Promise.all(all.map((serving) => serving.port()));
  return [...new Set(ports)];
}

const timesLogged = (text: string): number =>
  services.reduce((sum, serving) => sum + serving.output().split(text).length - 1, 0);

/** Longer than a log line is buffered. */
const untilWritten = (): Promise<void> => delay(300);

/**
 * The responses to twice as many requests as the limit allows, over many connections at once, while Redis counts. If
 * Redis was given up meanwhile, as happens on a busy machine, it tries again.
 */
async function sendTwiceTheQuota(ports: readonly number[]): ReturnType<typeof sendToEach> {
  for (;;) {
    while (timesLogged(ALONE) > timesLogged(AGAIN)) await delay(50);
    const before = timesLogged(ALONE);
    const connections = Array.from({ length: 24 }, () => QUOTA / 12);
    const responses = await sendToEach(ports, await makeKey(QUOTA), connections);
    await untilWritten();
    if (timesLogged(ALONE) === before) return responses;
  }
}

test('services on ports of their own and on a shared one accept exactly the quota, and report to all others when the window resets', async () => {
  const ports = await serveAll();
  for (let time = 0; time < 3; time += 1) {
    const responses = await sendTwiceTheQuota(ports);
    for (const status of [200, 429])
      expect(responses.filter(({ statusCode }) => statusCode === status).length, String(status)).toBe(QUOTA);
    for (const { statusCode, headers } of responses) {
      const [, remaining, seconds] = /^"partner";r=(\d+);t=(\d+)$/.exec(String(headers['ratelimit'])) ?? [];
      expect(Number(seconds)).toBeGreaterThan(0);
      expect(Number(seconds)).toBeLessThanOrEqual(60);
      if (statusCode === 429) expect([headers['retry-after'], remaining]).toEqual([seconds, '0']);
    }
  }
}, 60_000);

describe('pds serve', () => {
  test('starts while Redis is down, logs that, and uses Redis once it is up', async () => {
    await redis.kill();
    const service = serve();
    const port = await service.port();
    await service.said(ALONE);
    const agent = new Agent({ keepAlive: true });
    expect((await send(port, agent, await makeKey(1))).statusCode).toBe(200);
    agent.destroy();
    await redis.start();
    await service.said(AGAIN);
  });

  test('completes requests in flight before it leaves Redis', async () => {
    const service = serve();
    const port = await service.port();
    const key = await makeKey(1_000_000);
    const { failures } = await runUntilClosed(port, key, 8, (count) => {
      if (count === 200) service.kill('SIGTERM');
    });
    expect(failures).toEqual([]);
    expect(await service.exited).toEqual([0, null]);
    await service.closed;
    expect(service.output()).not.toContain(ALONE);
  });

  test('exits in time while Redis is frozen', async () => {
    const service = serve();
    await service.port();
    redis.freeze();
    service.kill('SIGTERM');
    expect(await service.exited).toEqual([0, null]);
    redis.thaw();
  });

  test('uses TLS for rediss URLs, and trusts an authority of the operator', async () => {
    let authority = '';
    const server = await startRedis(async (port, workspace) => {
      const tls = await makeCertificates(workspace, 'tls');
      ({ authority } = tls);
      const files = ['--tls-cert-file', tls.certificate, '--tls-key-file', tls.key, '--tls-ca-cert-file', authority];
      return ['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no', ...files, '--requirepass', SECRET];
    });
    const url = `rediss://:${encodeURIComponent(SECRET)}@127.0.0.1:${server.port}`;
    const trusting = serve({ PDS_REDIS_URL: url, NODE_EXTRA_CA_CERTS: authority });
    await trusting.said('Redis counts requests');
    const careful = serve({ PDS_REDIS_URL: url });
    await careful.said(ALONE);
    expect(careful.output()).toMatch(/"reason":"self-signed certificate in certificate chain/);
    await server.close();
  });
});
