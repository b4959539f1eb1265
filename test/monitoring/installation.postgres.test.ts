import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { getAdmin, readReadiness, scrape } from '../support/process/administrator.ts';
import { ROLE, startPrimary, startReplica, type PostgresPart, type ReplicaPart } from '../support/cluster/postgres.ts';
import { startRedis, type RedisPart } from '../support/cluster/redis.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServing, type Serving } from '../support/serving-process.ts';
import { startTcpProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';

const test = testWith('postgresql', 'redis');

/** For values that are polled every 500 ms, on a busy machine. */
const SOON = { timeout: 15_000, interval: 50 };

/** A request waits one second for the database; the rest is for a busy machine. */
const PATIENCE_MS = 3_000;

const everything = new AsyncDisposableStack();
let primary: PostgresPart;
let replica: ReplicaPart;
/** The replica's name in metrics and degradations. */
let name: string;
let redis: RedisPart;
let proxy: TcpProxy;
let database: OpenDatabase;
let serving: Serving;
let admin: number;

beforeAll(async () => {
  const workspace = new Workspace();
  everything.defer(() => workspace.close());
  primary = await startPrimary(workspace);
  database = openForCommands({ engine: 'postgres', url: primary.url });
  everything.defer(() => database.close());
  await migrate(database, Date.now);
  await publishLines(database, SMALL_CATALOG);
  replica = await startReplica(workspace, 'replica-1', primary);
  name = `127.0.0.1:${replica.port}`;
  redis = await startRedis(workspace);
  proxy = await startTcpProxy({ port: primary.port });
  everything.defer(() => proxy.close());
  const url = primary.url.replace(`:${primary.port}/`, `:${proxy.port}/`);
  const settings = { PDS_REPLICA_URL: replica.url, PDS_REDIS_URL: redis.url };
  serving = everything.use(startServing({ engine: 'postgres', url }, settings));
  await serving.port();
  admin = await serving.adminPort();
}, 60_000);
afterAll(() => everything.disposeAsync());

const sample = async (metric: string): Promise<number | undefined> => (await scrape(admin)).get(metric);

async function timed<T>(work: Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work;
  expect(performance.now() - startedAt).toBeLessThan(PATIENCE_MS);
  return result;
}

describe('the admin port shows', () => {
  test('a healthy installation: connections, the replica in use, shared limits', async () => {
    await expect.poll(() => sample(`pds_replica_in_use{replica="${name}"}`), SOON).toBe(1);
    const samples = await scrape(admin);
    expect(samples.get(`pds_replica_lag_seconds{replica="${name}"}`)).toBe(0);
    expect(samples.get(`pds_replica_up{replica="${name}"}`)).toBe(1);
    expect(samples.get('pds_limits_shared')).toBe(1);
    expect(samples.get('pds_database_max_connections{server="primary"}')).toBe(10);
    expect(samples.get('pds_database_connections{server="primary",state="idle"}')).toBeGreaterThan(0);
    // A poll of the revision can be in progress.
    await expect.poll(() => sample('pds_database_connections{server="primary",state="active"}'), SOON).toBe(0);
    expect(samples.get('pds_database_waiting_queries{server="primary"}')).toBe(0);
    expect(await readReadiness(admin)).toMatchObject({ status: 200, reasons: [], degradations: [] });
  });

  test('a replica that is behind, and its lag, while requests are still served', async () => {
    await replica.pauseReplay();
    await publishLines(database, { coops: [{ id: 'co_y', name: 'Coop Y' }] });
    await expect.poll(() => sample(`pds_replica_in_use{replica="${name}"}`), SOON).toBe(0);
    await expect.poll(() => sample(`pds_replica_lag_seconds{replica="${name}"}`), SOON).toBeGreaterThan(1);
    expect(await readReadiness(admin)).toMatchObject({
      status: 200,
      degradations: [`replica ${name} is behind, and is not read from`],
    });
    await replica.resumeReplay();
    await expect.poll(() => sample(`pds_replica_in_use{replica="${name}"}`), SOON).toBe(1);
    expect(await sample(`pds_replica_lag_seconds{replica="${name}"}`)).toBe(0);
  });

  test("a replica's own delay, while changes keep coming", async () => {
    await replica.query("alter system set recovery_min_apply_delay = '2s'");
    await replica.query('select pg_reload_conf()');
    const lags: number[] = [];
    const startedAt = performance.now();
    for (let change = 0; performance.now() - startedAt < 12_000; change += 1) {
      await publishLines(database, { coops: [{ id: 'co_y', name: `Coop ${change}` }] });
      lags.push((await sample(`pds_replica_lag_seconds{replica="${name}"}`)) ?? NaN);
    }
    await replica.query('alter system reset recovery_min_apply_delay');
    await replica.query('select pg_reload_conf()');
    expect(Math.max(...lags)).toBeGreaterThan(1);
    expect(Math.max(...lags)).toBeLessThan(7);
    await expect.poll(() => sample(`pds_replica_in_use{replica="${name}"}`), SOON).toBe(1);
  });

  test('a replica that is down, while requests are still served', async () => {
    await replica.stop();
    await expect.poll(() => sample(`pds_replica_up{replica="${name}"}`), SOON).toBe(0);
    expect(await sample(`pds_replica_lag_seconds{replica="${name}"}`)).toBeUndefined();
    expect(await readReadiness(admin)).toMatchObject({
      status: 200,
      degradations: [`replica ${name} does not respond, and is not read from`],
    });
    await replica.start();
    await expect.poll(() => sample(`pds_replica_in_use{replica="${name}"}`), SOON).toBe(1);
  });

  test('that Redis is down, while requests are still served', async () => {
    await redis.stop();
    await expect.poll(() => sample('pds_limits_shared'), SOON).toBe(0);
    expect(await sample('pds_limits_fallbacks_total')).toBe(1);
    expect(await readReadiness(admin)).toMatchObject({
      status: 200,
      degradations: ['Redis does not count requests: each process counts by itself, up to the full limit'],
    });
    await redis.start();
    await expect.poll(() => sample('pds_limits_shared'), SOON).toBe(1);
  });

  test.each([
    ['silent', (): void => proxy.freeze()],
    ['gone', (): void => proxy.cut()],
  ])('at once that the database is %s, and that it is back, and the process lives throughout', async (_case, fail) => {
    expect(await sample('pds_database_up')).toBe(1);
    fail();
    await expect.poll(async () => (await timed(readReadiness(admin))).status, SOON).toBe(503);
    const { reasons } = await readReadiness(admin);
    expect(reasons).toEqual([expect.stringMatching(/^the database (cannot be read|was read \d+ seconds ago)/)]);
    await expect.poll(async () => (await timed(scrape(admin))).get('pds_database_up'), SOON).toBe(0);
    await expect.poll(() => sample('pds_database_version_age_seconds'), SOON).toBeGreaterThan(2);
    expect(await sample('pds_ready')).toBe(0);
    // The last release is still known.
    expect(await sample('pds_last_release_timestamp_seconds')).toBeGreaterThan(0);
    expect((await getAdmin(admin, '/livez')).status).toBe(200);
    proxy.thaw();
    await expect.poll(async () => (await readReadiness(admin)).status, SOON).toBe(200);
    expect(await sample('pds_database_up')).toBe(1);
  });

  test('no password', async () => {
    const seen = await Promise.all(['/metrics', '/readyz'].map((path) => getAdmin(admin, path)));
    for (const { body } of seen) {
      expect(body).not.toContain(ROLE.password);
      expect(body).not.toContain('redis-test-password');
    }
  });
});
