import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setPartner } from '../../src/access/partner-admin.ts';
import { FAILURES_PER_MINUTE } from '../../src/rate-limiting/request-limits.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { countByStatus, runUntilClosed, send, sendToEach } from '../support/network/counting-clients.ts';
import { makePartner } from '../support/partners.ts';
import { contract, publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

const WORKERS = 3;

let made: TestDatabase;
let key: string;
/** Shared by tests that neither stop it nor count the requests of others, since each start takes four processes. */
let shared: { serving: Serving; port: number };
const started: Serving[] = [];

beforeAll(async () => {
  made = await createTestDatabase();
  key = await makeKey('acme', 1_000_000);
  shared = await serveByWorkers();
});
afterAll(async () => {
  for (const serving of started) serving.kill('SIGKILL');
  await Promise.all(started.map(({ closed }) => closed));
  await made.drop();
});

async function makeKey(name: string, requestsPerMinute: number): Promise<string> {
  return (await makePartner(made.database, Date.now, { name, everything: true, requestsPerMinute })).key;
}

function serve(environment: Record<string, string>, ...options: string[]): Serving {
  const serving = startServing(made.config, environment, ...options);
  started.push(serving);
  return serving;
}

/** Starts the service, and waits until all its workers respond. */
async function serveByWorkers(config = made.config): Promise<{ serving: Serving; port: number }> {
  const serving = startServing(config, { PDS_LOG_LEVEL: 'info' }, '--workers', String(WORKERS));
  started.push(serving);
  await serving.said('all workers are serving');
  // Each worker buffers its log lines.
  await serving.said(new RegExp(`(?:Server listening[^]*?\\n[^]*){${WORKERS}}`));
  return { serving, port: await serving.port() };
}

async function countResponses(usedKey: string, timesByConnection: readonly number[]): Promise<Record<string, number>> {
  return countByStatus(await sendToEach([shared.port], usedKey, timesByConnection));
}

interface LogLine {
  readonly pid: number;
  readonly msg: string;
}

/** The complete log lines so far. A line interleaved with another process's would not parse. */
function logOf(serving: Serving): LogLine[] {
  const complete = serving.output().split('\n').slice(0, -1);
  return complete.filter((line) => line !== '').map((line) => JSON.parse(line) as LogLine);
}

const pidsOf = (serving: Serving, message: string): Set<number> =>
  new Set(logOf(serving).flatMap(({ pid, msg }) => (msg.startsWith(message) ? [pid] : [])));

describe('pds serve', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('exits promptly on %s if it has no requests in flight', async (signal) => {
    const serving = serve({});
    const agent = new Agent({ keepAlive: true });
    expect((await send(await serving.port(), agent, key)).statusCode).toBe(200);
    const startedAt = Date.now();
    serving.kill(signal);
    expect(await serving.exited).toEqual([0, null]);
    expect(Date.now() - startedAt).toBeLessThan(1_500);
    agent.destroy();
  });

  test.each(['a single process', 'the primary process of workers', 'a primary process and its workers at once'])(
    'fails no request of busy clients when SIGTERM is sent to %s',
    async (target) => {
      const single = target === 'a single process' ? serve({ PDS_LOG_LEVEL: 'info' }) : null;
      const serving = single ?? (await serveByWorkers()).serving;
      const { responses, failures } = await runUntilClosed(await serving.port(), key, 12, (count) => {
        if (count !== 300) return;
        serving.kill('SIGTERM');
        if (!target.includes('at once')) return;
        for (const pid of pidsOf(serving, 'Server listening')) process.kill(pid, 'SIGTERM');
      });
      expect(await serving.exited).toEqual([0, null]);
      await serving.closed;
      expect(failures).toEqual([]);
      expect(responses).toBeGreaterThanOrEqual(300);
      // Every log line is written before exit, and none contains the key.
      expect(logOf(serving).filter(({ msg }) => msg === 'request answered')).toHaveLength(responses);
      expect(serving.output()).not.toContain(key);
    },
  );

  test('exits with 0 within ten seconds, alone or with workers, if the reader of a stream has stopped', async () => {
    // More than sockets buffer.
    const contracts = Array.from({ length: 1_000 }, (_, index) => ({
      ...contract(`ctr_${index}`),
      description: 'Asphalt '.repeat(1_000),
    }));
    await publishLines(made.database, { ...SMALL_CATALOG, contracts });
    const stop = async (serving: Serving): Promise<void> => {
      const socket = connect(await serving.port(), '127.0.0.1');
      socket.write(`GET /v1/contracts?format=ndjson HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      await once(socket, 'readable');
      const startedAt = Date.now();
      serving.kill('SIGTERM');
      expect(await serving.exited).toEqual([0, null]);
      expect(Date.now() - startedAt).toBeLessThan(10_000);
      await serving.closed;
      expect(serving.output()).toContain('"streams":1');
      socket.destroy();
    };
    await Promise.all([stop(serve({ PDS_LOG_LEVEL: 'info' })), serveByWorkers().then(({ serving }) => stop(serving))]);
  }, 60_000);

  test.each([1, WORKERS])('reports once that the port is in use, and exits with 1 (%i processes)', async (workers) => {
    const { port } = shared;
    const second = serve({}, '--workers', String(workers), '--port', String(port));
    expect(await second.exited).toEqual([1, null]);
    await second.closed;
    expect(second.output()).toContain(`address already in use 127.0.0.1:${port}. Stop the process that uses it`);
    expect(second.output().match(/error: /g)).toHaveLength(1);
  });

  test('rejects --demo outside dev', async () => {
    const serving = serve({ PDS_ENVIRONMENT: 'uat' }, '--demo');
    expect(await serving.exited).toEqual([1, null]);
    await serving.closed;
    expect(serving.output()).toContain('requires PDS_ENVIRONMENT=dev');
  });

  // Each worker is started five times, with pauses, before the primary process gives up.
  test('exits with 1 if all workers have died and none can be started', async () => {
    const own = await createTestDatabase();
    const { serving } = await serveByWorkers(own.config);
    await own.drop();
    for (const pid of pidsOf(serving, 'Server listening')) process.kill(pid, 'SIGKILL');
    expect(await serving.exited).toEqual([1, null]);
    await serving.closed;
    // Log lines about the database, from workers still running, do not begin with "error:".
    expect(serving.output().match(/^error: .*database/gm)).toHaveLength(1);
  }, 60_000);
});

describe('limits across all workers', () => {
  test('accept exactly the quota of a partner, however its requests are spread', async () => {
    const even = Array.from({ length: 24 }, () => 15);
    const uneven = [150, ...Array.from({ length: 30 }, () => 7)];
    for (const [index, times] of [even, uneven, uneven, [300, 60]].entries()) {
      const total = times.reduce((sum, more) => sum + more);
      for (const quota of [1, 60, 250]) {
        const small = await makeKey(`small-${index}-${quota}`, quota);
        expect(await countResponses(small, times)).toEqual({ 200: quota, 429: total - quota });
      }
    }
    expect(pidsOf(shared.serving, 'request answered').size).toBeGreaterThan(1);
  });

  test('count failed authentications of an address exactly', async () => {
    const times = [60, ...Array.from({ length: 24 }, () => 6)];
    expect(await countResponses('wrong', times)).toEqual({
      401: FAILURES_PER_MINUTE,
      429: 60 + 24 * 6 - FAILURES_PER_MINUTE,
    });
  });

  test('apply a quota that changed within the minute', async () => {
    const changing = await makeKey('changing', 40);
    const times = Array.from({ length: 20 }, () => 5);
    expect(await countResponses(changing, times)).toEqual({ 200: 40, 429: 60 });
    await setPartner(made.database, Date.now, 'changing', { requestsPerMinute: 150 });
    await delay(1_200);
    // Rejected requests count too, as they do in a single process.
    expect(await countResponses(changing, times)).toEqual({ 200: 50, 429: 50 });
    await setPartner(made.database, Date.now, 'changing', { requestsPerMinute: 190 });
    await delay(1_200);
    expect(await countResponses(changing, [1])).toEqual({ 429: 1 });
  });
});
