import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { createPartner, setPartner } from '../../src/access/partner-admin.ts';
import { FAILURES_PER_MINUTE } from '../../src/http/request-counts.ts';
import { ask, askOften, countByStatus } from '../support/counting-clients.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

const WORKERS = 3;

let made: TestDatabase;
let key: string;
/** Shared by tests that neither stop it nor count the requests of others, since each start takes four processes. */
let shared: { serving: Serving; port: number };
const started: Serving[] = [];

beforeAll(async () => {
  made = await createTestDatabase();
  key = await makePartner('acme', 1_000_000);
  shared = await serve();
});
afterAll(async () => {
  for (const serving of started) serving.kill('SIGKILL');
  await Promise.all(started.map(({ closed }) => closed));
  await made.drop();
});

async function makePartner(name: string, requestsPerMinute: number): Promise<string> {
  await createPartner(made.database, Date.now, name, { everything: true });
  await setPartner(made.database, Date.now, name, { requestsPerMinute });
  return (await issueKey(made.database, Date.now, name, { environment: 'test', lifetimeMs: null })).key;
}

/** Starts the service, and waits until all its workers respond. */
async function serve(config = made.config): Promise<{ serving: Serving; port: number }> {
  const serving = startServing(config, { PDS_LOG_LEVEL: 'info' }, '--workers', String(WORKERS));
  started.push(serving);
  await serving.said('all workers answer requests');
  // Each worker buffers its log lines.
  await serving.said(new RegExp(`(?:Server listening[^]*?\\n[^]*){${WORKERS}}`));
  return { serving, port: await serving.port() };
}

async function countAnswers(
  port: number,
  usedKey: string,
  timesByConnection: readonly number[],
): Promise<Record<string, number>> {
  return countByStatus(await askOften([port], usedKey, timesByConnection));
}

interface LogLine {
  readonly pid: number;
  readonly msg: string;
  readonly requestId?: string;
}

/** The complete log lines so far. A line interleaved with another process's would not parse. */
function logOf(serving: Serving): LogLine[] {
  const whole = serving.output().split('\n').slice(0, -1);
  return whole.filter((line) => line !== '').map((line) => JSON.parse(line) as LogLine);
}

const pidsOf = (serving: Serving, message: string): Set<number> =>
  new Set(logOf(serving).flatMap(({ pid, msg }) => (msg.startsWith(message) ? [pid] : [])));

describe('the limits, over all workers', () => {
  test('let exactly the quota of a partner pass, however its requests are spread', async () => {
    const { serving, port } = shared;
    const even = Array.from({ length: 24 }, () => 15);
    const uneven = [150, ...Array.from({ length: 30 }, () => 7)];
    for (const [index, times] of [even, uneven, uneven, [300, 60]].entries()) {
      const total = times.reduce((sum, more) => sum + more);
      for (const quota of [1, 60, 250]) {
        const small = await makePartner(`small-${index}-${quota}`, quota);
        expect(await countAnswers(port, small, times)).toEqual({ 200: quota, 429: total - quota });
      }
    }
    expect(pidsOf(serving, 'request answered').size).toBeGreaterThan(1);
  });

  test('count failed authentications of an address exactly', async () => {
    const { port } = shared;
    const times = [60, ...Array.from({ length: 24 }, () => 6)];
    expect(await countAnswers(port, 'wrong', times)).toEqual({
      401: FAILURES_PER_MINUTE,
      429: 60 + 24 * 6 - FAILURES_PER_MINUTE,
    });
  });

  test('follow a quota that is changed within the minute', async () => {
    const { port } = shared;
    const changing = await makePartner('changing', 40);
    const times = Array.from({ length: 20 }, () => 5);
    expect(await countAnswers(port, changing, times)).toEqual({ 200: 40, 429: 60 });
    await setPartner(made.database, Date.now, 'changing', { requestsPerMinute: 150 });
    await delay(1_200);
    // Rejected requests count too, as they do in a single process.
    expect(await countAnswers(port, changing, times)).toEqual({ 200: 50, 429: 50 });
    await setPartner(made.database, Date.now, 'changing', { requestsPerMinute: 190 });
    await delay(1_200);
    expect(await countAnswers(port, changing, [1])).toEqual({ 429: 1 });
  });
});

describe('pds serve --workers', () => {
  test.each(['the primary process alone', 'all processes at once'])(
    'fails no request of busy clients when %s is told to end',
    async (who) => {
      const { serving, port } = await serve();
      const failures: string[] = [];
      let answered = 0;
      const end = (): void => {
        serving.kill('SIGTERM');
        if (who === 'the primary process alone') return;
        for (const pid of pidsOf(serving, 'Server listening')) process.kill(pid, 'SIGTERM');
      };
      const clients = Array.from({ length: 12 }, async () => {
        const agent = new Agent({ keepAlive: true });
        try {
          for (;;) {
            const { statusCode, headers } = await ask(port, agent, key);
            if (statusCode !== 200) failures.push(String(statusCode));
            answered += 1;
            if (answered === 300) end();
            if (headers.connection === 'close') return;
          }
        } catch (error) {
          failures.push(String(error));
        } finally {
          agent.destroy();
        }
      });
      await Promise.all(clients);
      expect(await serving.exited).toEqual([0, null]);
      await serving.closed;
      expect(failures).toEqual([]);
      expect(answered).toBeGreaterThanOrEqual(300);
      expect(logOf(serving).filter(({ msg }) => msg === 'request answered')).toHaveLength(answered);
    },
  );

  test('says once that the port is taken, and ends with 1', async () => {
    const { port } = shared;
    const second = startServing(made.config, {}, '--workers', String(WORKERS), '--port', String(port));
    started.push(second);
    expect(await second.exited).toEqual([1, null]);
    await second.closed;
    expect(second.output().match(/error: .*address already in use.*\. Stop what uses that port/g)).toHaveLength(1);
    expect(second.output().match(/error: /g)).toHaveLength(1);
  });

  // Each worker is started five times, with pauses, before the primary process gives up.
  test('ends with 1 where all workers died and none can be started', async () => {
    const own = await createTestDatabase();
    const { serving } = await serve(own.config);
    await own.drop();
    for (const pid of pidsOf(serving, 'Server listening')) process.kill(pid, 'SIGKILL');
    expect(await serving.exited).toEqual([1, null]);
    // Log lines about the database, from workers still running, do not begin with "error:".
    expect(serving.output().match(/^error: .*database/gm)).toHaveLength(1);
  }, 60_000);
});
