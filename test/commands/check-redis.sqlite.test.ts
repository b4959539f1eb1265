import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterEach, beforeAll, expect } from 'vitest';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { startRedis, type RedisServer } from '../support/redis/redis-server.ts';
import { createSqliteFiles } from '../support/sqlite-files.ts';
import { runCheck, type Checked } from './check-contract.ts';

const test = testWith('redis');

/** The permissions that the operators' guide grants the service's user. */
const GUIDE = readFileSync(new URL('../../docs/operators/several-machines.md', import.meta.url), 'utf8');
const [, RIGHTS = ''] = /ACL SETUSER pds on >secret (.*)/.exec(GUIDE) ?? [];

let redis: RedisServer;

const files = forAllTests(createSqliteFiles);
beforeAll(() => files.use(() => Promise.resolve()));
afterEach(() => redis.close());

async function start(...settings: readonly string[]): Promise<void> {
  redis = await startRedis(() => settings);
}

const check = (url: string, ...secrets: readonly string[]): Promise<Checked> =>
  runCheck({ settings: { ...files.settings, PDS_REDIS_URL: url }, secrets });

async function withClient<T>(work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(redis.port, '127.0.0.1');
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

test('pds check counts in Redis with the permissions in the guide, and leaves no key behind', async () => {
  await start();
  expect(RIGHTS).toContain('~pds:*');
  await withClient((client) => client.call('ACL', 'SETUSER', 'pds', 'on', '>sesame', ...RIGHTS.split(' ')));
  const { findings, troubles } = await check(redis.url.replace('//', '//pds:sesame@'), 'sesame');
  expect(troubles).toEqual([]);
  expect(findings.at(-1)?.message).toMatch(/^127\.0\.0\.1:\d+ counts requests in \d+\.\d ms$/);
  const left = await withClient(async (client) => {
    const keys = await client.keys('*');
    return Promise.all(keys.map((key) => client.pttl(key)));
  });
  // Every key expires; one without expiry would have -1.
  expect(left.filter((ttlMs) => ttlMs === -1 || ttlMs > 1_000)).toEqual([]);
});

test('pds check fails if Redis is down, hangs, or rejects the password, the user or the database', async () => {
  await start('--requirepass', 'open-sesame', '--databases', '2');
  const url = (login: string, database = ''): string => redis.url.replace('//', `//${login}@`) + database;
  expect((await check(url(':open-sesame'), 'open-sesame')).troubles).toEqual([]);
  const failure = (reason: RegExp): unknown[] => [
    expect.stringMatching(
      new RegExp(`^fail\\|redis: 127\\.0\\.0\\.1:\\d+(/\\d)? cannot count requests: .*${reason.source}`),
    ),
  ];
  expect((await check(url(':wrong-sesame'), 'wrong-sesame')).troubles).toEqual(failure(/WRONGPASS/));
  expect((await check(redis.url)).troubles).toEqual(failure(/NOAUTH/));
  expect((await check(url(':open-sesame', '/7'), 'open-sesame')).troubles).toEqual(failure(/out of range/));
  redis.freeze();
  expect((await check(url(':open-sesame'), 'open-sesame')).troubles).toEqual(failure(/(no answer|timed? ?out)/i));
  redis.thaw();
  await redis.stop();
  expect((await check(url(':open-sesame'), 'open-sesame')).troubles).toEqual(failure(/ECONNREFUSED/));
});

test('pds check fails if Redis is reachable but its user cannot count', async () => {
  await start();
  await withClient((client) => client.call('ACL', 'SETUSER', 'guest', 'on', '>sesame', '~other:*', '+@all'));
  const { troubles } = await check(redis.url.replace('//', '//guest:sesame@'), 'sesame');
  expect(troubles).toEqual([expect.stringMatching(/^fail\|redis: .*(NOPERM|No permissions)/i)]);
});

test('pds check warns if Redis evicts keys for lack of memory', async () => {
  await start('--maxmemory', '4mb', '--maxmemory-policy', 'allkeys-lru');
  await withClient(async (client) => {
    for (let number = 0; number < 50; number++) await client.set(`large:${number}`, Buffer.alloc(200_000));
  });
  expect((await check(redis.url)).troubles).toEqual([
    expect.stringMatching(/^warn\|redis: .* has evicted \d+ keys for lack of memory/),
  ]);
});
