import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { testWith } from '../support/installed-programs.ts';
import { startRedis, type RedisServer } from '../support/redis-server.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import {
  countRequest,
  countRequests,
  passingOf,
  startLimits,
  whileShared,
  type LimitsOfProcess,
} from './redis-rate-limiter-setup.ts';

const test = testWith('redis');

const ALONE = 'Redis does not count requests';
const AGAIN = 'requests are counted in Redis again';

/** 100 ms are guaranteed; the rest is for a busy machine. A connection is given up only after 1,000 ms. */
const MAX_WAIT_MS = 500;

const QUOTA = 30;
const PROCESSES = 3;

let redis: RedisServer;
let proxy: TcpProxy;
let processes: LimitsOfProcess[];

beforeEach(async () => {
  redis = await startRedis();
  proxy = await startTcpProxy(redis);
  processes = [];
});
afterEach(async () => {
  await Promise.all(processes.map(({ limits }) => limits.close()));
  await proxy.close();
  await redis.close();
});

async function start(url = `redis://127.0.0.1:${proxy.port}`): Promise<LimitsOfProcess> {
  const own = await startLimits(url);
  processes.push(own);
  return own;
}

/** Starts processes that know of each other. */
async function startAll(): Promise<void> {
  while (processes.length < PROCESSES) await start();
  const client = new Redis(redis.url);
  // The first notice the last with their next heartbeat.
  while (processes.some(({ limits }) => limits.processes < PROCESSES)) await client.wait(0, 20).catch(() => undefined);
  client.disconnect();
}

/** How many of twice the allowed requests pass. */
async function countTogether(): Promise<number> {
  const all = processes.map(({ limits }) => limits);
  const times = 2 * QUOTA;
  return passingOf(await whileShared(all, () => countRequests(all, { times, quota: QUOTA, id: nextId() })));
}

let lastId = 100;
/** A partner without any counted requests. */
const nextId = (): number => (lastId += 1);

/**
 * Sends the whole quota to each process, which is more than its share; returns how many passed, and the longest wait of
 * one.
 */
async function askAlone(id: number): Promise<{ passed: number; longestMs: number }> {
  let longestMs = 0;
  let passed = 0;
  const ask = async ({ limits }: LimitsOfProcess): Promise<void> => {
    for (let time = 0; time < QUOTA; time += 1) {
      const startedMs = performance.now();
      if (!(await countRequest(limits, id, QUOTA)).isExceeded) passed += 1;
      longestMs = Math.max(longestMs, performance.now() - startedMs);
    }
  };
  await Promise.all(processes.map(ask));
  return { passed, longestMs };
}

interface Fault {
  readonly name: string;
  readonly begin: () => unknown;
  readonly end: () => unknown;
}

const FAULTS: readonly Fault[] = [
  { name: 'Redis is killed and started anew', begin: () => redis.kill(), end: () => redis.start() },
  { name: 'Redis is frozen', begin: () => redis.freeze(), end: () => redis.thaw() },
  { name: 'the network swallows everything', begin: () => proxy.freeze(), end: () => proxy.thaw() },
  { name: 'connections are refused', begin: () => proxy.cut(), end: () => proxy.thaw() },
];

describe.each(FAULTS)('when $name', ({ begin, end }) => {
  test('each process counts up to its share, none waits long, and all return by themselves', async () => {
    await startAll();
    expect(await countTogether()).toBe(QUOTA);
    const before = processes.map(({ lines }) => lines.length);
    await begin();
    const { passed, longestMs } = await askAlone(2);
    expect(passed).toBe(QUOTA);
    expect(longestMs).toBeLessThan(MAX_WAIT_MS);
    for (const { limits } of processes) {
      expect(limits.isShared).toBe(false);
      // No request waits for a Redis that is known to be down.
      expect(countRequest(limits, 3)).not.toBeInstanceOf(Promise);
    }
    await end();
    await Promise.all(processes.map(({ said }, index) => said(AGAIN, before[index])));
    for (const [index, { lines, limits }] of processes.entries()) {
      expect(lines.slice(before[index]).map((line) => line.includes(ALONE))).toEqual([true, false]);
      expect(limits.fallbacks).toBe(lines.filter((line) => line.includes(ALONE)).length);
    }
    expect(await countTogether()).toBe(QUOTA);
  });
});

test('a connection that went silent for ever is given up, and another one made', async () => {
  const { limits, said } = await start();
  proxy.strand();
  expect(await countRequests([limits], { times: 5, quota: QUOTA, id: 1 })).toHaveLength(5);
  expect(limits.isShared).toBe(false);
  await said(AGAIN);
  const [limitResult] = await whileShared([limits], (id) =>
    countRequests([limits], { times: 1, quota: 7, id: 10 + id }),
  );
  expect(limitResult?.remaining).toBe(6);
});

test('a Redis that is away does not keep from starting, and is used when it comes', async () => {
  await redis.kill();
  const { limits, lines, said } = await start(redis.url);
  expect(lines).toEqual([expect.stringMatching(/Redis does not count requests.*ECONNREFUSED/)]);
  expect(countRequest(limits)).toEqual({ isExceeded: false, remaining: 9, resetSeconds: 60 });
  await redis.start();
  await said(AGAIN);
});

test('a Redis that does not answer at all does not keep from starting either', async () => {
  proxy.freeze();
  const { limits, said } = await start();
  expect(countRequest(limits)).toMatchObject({ remaining: 9 });
  proxy.thaw();
  await said(AGAIN);
});

test('a primary that became a replica is left for the one that its name leads to now', async () => {
  const { said } = await start();
  const promoted = await startRedis();
  proxy.moveTo(promoted.port, { keepOld: true });
  const demoted = new Redis(redis.url).on('error', () => undefined);
  await demoted.call('replicaof', '127.0.0.1', '1');
  await said('READONLY');
  await said(AGAIN);
  demoted.disconnect();
  await promoted.close();
});

describe('an error in the place of a count is an outage:', () => {
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
    const { limits, lines, said } = await start();
    await client.call(begin, ...beginning);
    const before = lines.length;
    expect(await countRequest(limits)).toEqual({ isExceeded: false, remaining: 9, resetSeconds: 60 });
    await said(ALONE, before);
    expect(lines.at(before)).toContain(reason);
    await client.call(end, ...ending);
    await said(AGAIN, before);
  });

  test('a log-in that is missing', async () => {
    await client.config('SET', 'requirepass', 'hunter2');
    const { limits, lines } = await start();
    expect(lines).toEqual([expect.stringMatching(/NOAUTH/)]);
    expect(countRequest(limits)).toMatchObject({ remaining: 9 });
  });

  test('a database that is not there', async () => {
    const { limits, lines } = await start(`${redis.url}/99`);
    expect(lines).toEqual([expect.stringMatching(/DB index is out of range/)]);
    expect(limits.isShared).toBe(false);
  });

  test('it is told with longer and longer pauses where Redis answers probes and cannot count', async () => {
    await client.lpush('pds:test:partner:1', 'x');
    const { limits, lines } = await start();
    const startedMs = performance.now();
    while (performance.now() - startedMs < 2_000) {
      await countRequest(limits);
      await client.ping();
    }
    expect(lines.filter((line) => line.includes(ALONE)).length).toBeLessThanOrEqual(4);
  });
});

describe('what the URL says', () => {
  const SECRET = 'p%40ss/w:rd';

  test('user, password and database are used', async () => {
    const client = new Redis(redis.url, { db: 3 });
    await client.call('acl', 'setuser', 'app', 'on', `>${SECRET}`, '~pds:*', '+@all');
    await client.config('SET', 'requirepass', 'other');
    const { limits } = await start(`redis://app:${encodeURIComponent(SECRET)}@127.0.0.1:${redis.port}/3`);
    expect(limits.isShared).toBe(true);
    await countRequest(limits);
    expect(await client.keys('*:partner:*')).toEqual(['pds:test:partner:1']);
    client.disconnect();
  });

  test('nothing of the log-in is ever said, whatever goes wrong', async () => {
    const url = (port: number): string => `redis://app:${encodeURIComponent(SECRET)}@127.0.0.1:${port}/3`;
    // No such user.
    await start(url(redis.port));
    // Redis echoes the arguments of unknown commands.
    const renamed = await startRedis(() => ['--rename-command', 'HELLO', '', '--rename-command', 'AUTH', '']);
    await start(url(renamed.port));
    await renamed.close();
    const said = processes.flatMap(({ lines }) => lines);
    expect(said).toEqual([expect.stringContaining('WRONGPASS'), expect.stringContaining('unknown command')]);
    for (const part of [SECRET, encodeURIComponent(SECRET), 'app']) expect(said.join()).not.toContain(part);
  });
});
