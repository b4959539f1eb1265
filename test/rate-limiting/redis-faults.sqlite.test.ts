import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import { testWith } from '../support/installed-programs.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { startRedis } from '../support/redis/redis-server.ts';
import { startTcpProxy } from '../support/network/tcp-proxy.ts';
import {
  countRequest,
  countRequests,
  passedOf,
  startRedisLimiter,
  whileShared,
  type LimiterOfProcess,
} from './redis-limits.ts';

const test = testWith('redis');

const ALONE = 'Redis does not count requests';
const AGAIN = 'Redis counts requests again';

/** 100 ms are guaranteed; the rest is for a busy machine. A connection is given up only after 1,000 ms. */
const MAX_WAIT_MS = 500;

const QUOTA = 30;
const PROCESSES = 3;

let processes: LimiterOfProcess[];

const redis = forEachTest(startRedis);
const proxy = forEachTest(() => startTcpProxy(redis));
beforeEach(() => {
  processes = [];
});
afterEach(() => {
  for (const { close } of processes) close();
});

async function start(url = `redis://127.0.0.1:${proxy.port}`): Promise<LimiterOfProcess> {
  const own = await startRedisLimiter(url);
  processes.push(own);
  return own;
}

/** Starts until the one line has this reason: on a busy machine, the first command can time out before its response. */
function startUntil(reason: RegExp, url?: string): Promise<LimiterOfProcess> {
  return vi.waitFor(
    async () => {
      const own = await start(url);
      expect(own.lines).toEqual([expect.stringMatching(reason)]);
      return own;
    },
    { timeout: 10_000 },
  );
}

async function startAll(): Promise<void> {
  while (processes.length < PROCESSES) await start();
}

/** How many of twice the allowed requests pass. */
async function countTogether(): Promise<number> {
  const all = processes.map(({ limiter }) => limiter);
  const times = 2 * QUOTA;
  return passedOf(await whileShared(all, () => countRequests(all, { times, quota: QUOTA, key: nextKey() })));
}

let keys = 0;
/** A key without any counted requests. */
const nextKey = (): string => `next:${(keys += 1)}`;

/** A return of Redis is noticed with a request or a new connection. */
async function countUntilAgain({ limiter, lines }: LimiterOfProcess, from = 0): Promise<void> {
  while (!lines.slice(from).some((line) => line.includes(AGAIN))) {
    await countRequest(limiter, 'again');
    await delay(20);
  }
}

/** Sends twice the quota to each process; returns how many passed, and the longest wait of one. */
async function countAlone(key: string): Promise<{ passed: number; longestMs: number }> {
  let longestMs = 0;
  let passed = 0;
  const count = async ({ limiter }: LimiterOfProcess): Promise<void> => {
    for (let time = 0; time < 2 * QUOTA; time += 1) {
      const startedMs = performance.now();
      if (!(await countRequest(limiter, key, QUOTA)).isExceeded) passed += 1;
      longestMs = Math.max(longestMs, performance.now() - startedMs);
    }
  };
  await Promise.all(processes.map(count));
  return { passed, longestMs };
}

interface Fault {
  readonly name: string;
  readonly begin: () => unknown;
  readonly end: () => unknown;
}

const FAULTS: readonly Fault[] = [
  { name: 'Redis is killed and restarted', begin: () => redis.kill(), end: () => redis.start() },
  { name: 'Redis is frozen', begin: () => redis.freeze(), end: () => redis.thaw() },
  { name: 'the network drops everything', begin: () => proxy.freeze(), end: () => proxy.thaw() },
  { name: 'connections are refused', begin: () => proxy.cut(), end: () => proxy.thaw() },
];

describe.each(FAULTS)('when $name', ({ begin, end }) => {
  test('each process accepts the full limit, no request waits long, and all processes return to Redis', async () => {
    await startAll();
    expect(await countTogether()).toBe(QUOTA);
    const before = processes.map(({ lines }) => lines.length);
    await begin();
    const { passed, longestMs } = await countAlone('alone');
    expect(passed).toBe(PROCESSES * QUOTA);
    expect(longestMs).toBeLessThan(MAX_WAIT_MS);
    for (const { limiter } of processes) {
      expect(limiter.isShared).toBe(false);
    }
    await end();
    await Promise.all(processes.map((own, index) => countUntilAgain(own, before[index])));
    for (const [index, { lines, limiter }] of processes.entries()) {
      expect(
        lines
          .slice(before[index])
          .map((line) => line.includes(ALONE))
          .slice(0, 1),
      ).toEqual([true]);
      expect(limiter.fallbacks).toBe(lines.filter((line) => line.includes(ALONE)).length);
    }
    expect(await countTogether()).toBe(QUOTA);
  });
});

test('replaces a connection that has gone silent', async () => {
  const own = await start();
  const { limiter } = own;
  proxy.strand();
  expect(await countRequests([limiter], { times: 5, quota: QUOTA, key: nextKey() })).toHaveLength(5);
  expect(limiter.isShared).toBe(false);
  await countUntilAgain(own);
  const [limitResult] = await whileShared([limiter], () =>
    countRequests([limiter], { times: 1, quota: 7, key: nextKey() }),
  );
  expect(limitResult?.remaining).toBe(6);
});

test('starts while Redis does not respond', async () => {
  proxy.freeze();
  const { limiter, logged } = await start();
  expect(countRequest(limiter)).toMatchObject({ remaining: 9 });
  proxy.thaw();
  await logged(AGAIN);
});

test('leaves a primary that became a replica, and follows the host name to the new one', async () => {
  const { limiter, logged } = await start();
  const promoted = await startRedis();
  proxy.moveTo(promoted.port, { keepOld: true });
  const demoted = new Redis(redis.url).on('error', () => undefined);
  await demoted.call('replicaof', '127.0.0.1', '1');
  await countRequest(limiter);
  await logged('READONLY');
  await logged(AGAIN);
  demoted.disconnect();
  await promoted.close();
});

describe('an error response counts as an outage:', () => {
  let client: Redis;
  beforeEach(() => {
    client = new Redis(redis.url).on('error', () => undefined);
  });
  afterEach(() => client.disconnect());

  test.each([
    ['READONLY', ['replicaof', '127.0.0.1', '1'], ['replicaof', 'no', 'one']],
    ['OOM', ['config', 'set', 'maxmemory', '1'], ['config', 'set', 'maxmemory', '0']],
    ['WRONGTYPE', ['lpush', 'pds:test:partner:1', 'x'], ['del', 'pds:test:partner:1']],
  ] as const)('%s', async (reason, [begin, ...beginning], [end, ...ending]) => {
    const own = await start();
    const { limiter, lines, logged } = own;
    await client.call(begin, ...beginning);
    const before = lines.length;
    expect(await countRequest(limiter)).toEqual({ isExceeded: false, remaining: 9, resetSeconds: 60 });
    await logged(ALONE, before);
    expect(lines.at(before)).toContain(reason);
    await client.call(end, ...ending);
    await countUntilAgain(own, before);
  });

  test('missing credentials', async () => {
    await client.config('SET', 'requirepass', 'hunter2');
    const { limiter } = await startUntil(/NOAUTH/);
    expect(countRequest(limiter)).toMatchObject({ remaining: 9 });
  });

  test('a database number that does not exist', async () => {
    const { limiter } = await startUntil(/DB index is out of range/, `${redis.url}/99`);
    expect(limiter.isShared).toBe(false);
  });

  test('logs an outage once, not with each request', async () => {
    await client.lpush('pds:test:partner:1', 'x');
    const { limiter, lines } = await start();
    const startedMs = performance.now();
    while (performance.now() - startedMs < 2_000) {
      await countRequest(limiter);
      await client.ping();
    }
    expect(lines.filter((line) => line.includes(ALONE)).length).toBeLessThanOrEqual(4);
  });
});

describe('the Redis URL', () => {
  const SECRET = 'p%40ss/w:rd';

  test('sets user, password and database', async () => {
    const client = new Redis(redis.url, { db: 3 });
    await client.call('acl', 'setuser', 'app', 'on', `>${SECRET}`, '~pds:*', '+@all');
    await client.config('SET', 'requirepass', 'other');
    const { limiter } = await start(`redis://app:${encodeURIComponent(SECRET)}@127.0.0.1:${redis.port}/3`);
    expect(limiter.isShared).toBe(true);
    await countRequest(limiter);
    expect(await client.keys('*:partner:*')).toEqual(['pds:test:partner:1']);
    client.disconnect();
  });

  test('never appears in the log with its credentials, whatever goes wrong', async () => {
    const url = (port: number): string => `redis://app:${encodeURIComponent(SECRET)}@127.0.0.1:${port}/3`;
    // No such user.
    await startUntil(/WRONGPASS/, url(redis.port));
    // Redis echoes the arguments of unknown commands.
    const renamed = await startRedis(() => ['--rename-command', 'HELLO', '', '--rename-command', 'AUTH', '']);
    await startUntil(/unknown command/, url(renamed.port));
    await renamed.close();
    const all = processes.flatMap(({ lines }) => lines).join();
    for (const part of [SECRET, encodeURIComponent(SECRET), 'app']) expect(all).not.toContain(part);
  });
});
