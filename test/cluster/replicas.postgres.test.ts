import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { revokeKey, rotateKey } from '../../src/access/key-admin.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands, openForServing } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { addMilliseconds } from '../../src/timestamp.ts';
import { createClient, idsOf, nextCursorOf, type HttpResponse, type Client } from '../support/client.ts';
import { startPgBouncer } from '../support/cluster/pgbouncer.ts';
import { startPrimary, startReplica, type PostgresPart, type ReplicaPart } from '../support/cluster/postgres.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { startTcpProxy } from '../support/network/tcp-proxy.ts';
import { startServicePart } from '../support/cluster/service.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { makePartner } from '../support/partners.ts';
import { timeUntil } from '../support/time-until.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';

const test = testWith('postgresql');

/** A process notices changes within one second; the rest is for a busy machine. */
const NOTICED_MS = 2_500;
const NOTHING = { everything: false, leadEntities: [], coops: [] };

let primary: PostgresPart;
/** The one that the service reads from. */
let replica: ReplicaPart;
let otherReplica: ReplicaPart;
let database: OpenDatabase;
let client: Client;
let key: string;
let made = 0;

const workspace = forAllTests(() => new Workspace());
beforeAll(async () => {
  primary = await startPrimary(workspace);
  database = openForCommands({ engine: 'postgres', url: primary.url });
  await migrate(database, Date.now);
  await publishLines(database, SMALL_CATALOG);
  replica = await startReplica(workspace, 'replica-1', primary);
  otherReplica = await startReplica(workspace, 'replica-2', primary);
  const service = await startServicePart(workspace, primary.url, {
    PDS_REPLICA_URL: replica.url,
  });
  client = createClient(service.url);
}, 60_000);
afterAll(async () => {
  client.close();
  await database.close();
});
beforeEach(async () => {
  made += 1;
  ({ key } = await makePartner(database, Date.now, { name: `partner-${made}`, everything: true }));
  await waitForReplica();
});
afterEach(async () => {
  await primary.start();
  for (const each of [replica, otherReplica]) {
    await each.start();
    await each.resumeReplay();
    await each.catchUp();
  }
});

async function list(path: string): Promise<{ ids: string[]; watermark: string; response: HttpResponse }> {
  const response = await client.get(path, { key });
  expect(response.status, response.body).toBe(200);
  return { ids: idsOf(response), watermark: String(response.headers['x-sync-watermark']), response };
}

/** Returns the watermark of the release. */
async function publishCoops(...names: string[]): Promise<string> {
  const { timestamp } = await publishLines(database, { coops: names.map((name) => ({ id: name, name })) });
  return addMilliseconds(String(timestamp), 1);
}

/** Waits until the service reads from its replica. */
async function waitForReplica(): Promise<void> {
  const startedAt = new Date();
  const reads = `select 1 from pg_stat_activity
    where application_name = 'pds serve' and query like '%as scope,%' and query_start > $1`;
  let sent = 0;
  await timeUntil(async () => {
    await client.get(`/v1/suppliers?q=sent${made}x${(sent += 1)}`, { key });
    return (await replica.query(reads, [startedAt])).length > 0;
  });
}

test('an up-to-date replica serves records, also while the primary is down', async () => {
  await primary.stop();
  for (const path of ['/v1/contracts?limit=1', '/v1/suppliers?q=a', '/v1/solicitations/count', '/v1/lead-entities']) {
    expect((await client.get(path, { key })).status).toBe(200);
  }
});

test('the primary serves records if the replica is lost, and no request in flight fails', async () => {
  await list('/v1/coops');
  const statuses: number[] = [];
  let isDone = false;
  const clients = Array.from({ length: 4 }, async (_, client_) => {
    for (let attempt = 0; !isDone; attempt += 1) {
      statuses.push((await client.get(`/v1/contracts?q=w${client_}x${attempt}`, { key })).status);
    }
  });
  await replica.kill();
  const before = statuses.length;
  await timeUntil(() => Promise.resolve(statuses.length > before + 10));
  isDone = true;
  await Promise.all(clients);
  expect(new Set(statuses)).toEqual(new Set([200]));
});

test('the primary serves a release that the replica does not have yet, within a second of its release', async () => {
  await list('/v1/coops');
  await replica.pauseReplay();
  await publishCoops(`new-${made}`);
  expect(await timeUntil(async () => (await list('/v1/coops?limit=100')).ids.includes(`new-${made}`))).toBeLessThan(
    NOTICED_MS,
  );
  // From here on, every response contains it.
  for (let limit = 50; limit < 100; limit += 1) {
    expect((await list(`/v1/coops?limit=${limit}`)).ids).toContain(`new-${made}`);
  }
});

test('a listing that began at the primary continues there while the replica lags behind its watermark', async () => {
  const other = await startServicePart(workspace, primary.url);
  const first = createClient(other.url);
  try {
    await list('/v1/coops');
    await replica.pauseReplay();
    await publishCoops(
      ...Array.from({ length: 30 }, (_, index) => `listing-${made}-${String(index).padStart(2, '0')}`),
    );
    // The other process knows of the import; this one gets the request before it can.
    const page = await first.get(`/v1/coops?limit=10`, { key });
    const rest = await list(`/v1/coops?limit=100&cursor=${nextCursorOf(page)}`);
    expect(rest.response.headers['x-sync-watermark']).toBe(page.headers['x-sync-watermark']);
    expect(rest.ids.filter((id) => id.startsWith(`listing-${made}-`)).length).toBeGreaterThanOrEqual(20);
  } finally {
    first.close();
    await other.stop();
  }
});

test('a client that is ahead of a replica gets no older watermark, and loses nothing', async () => {
  const before = await list('/v1/contracts?limit=100');
  await replica.pauseReplay();
  const [contract] = SMALL_CATALOG.contracts;
  const { timestamp } = await publishLines(database, { contracts: [{ ...contract, name: `Renamed ${made}` }] });
  const since = String(timestamp);
  // The timestamp of the change, as another process could have returned it a moment before.
  const sync = await list(`/v1/contracts?updated_since=${since}`);
  // It is not a watermark, so changes of the five seconds before are included.
  expect(sync.ids).toContain(contract.id);
  expect(sync.watermark > since).toBe(true);
  expect(sync.watermark > before.watermark).toBe(true);
});

test.each(['/v1/contracts?', '/v1/contracts?format=ndjson&', '/v1/suppliers?format=csv&'])(
  'a client that is ahead of a replica gets no watermark before the one that it sent: %s',
  async (path) => {
    await list('/v1/coops');
    await replica.pauseReplay();
    const watermark = await publishCoops(`ahead-${made}`);
    // Before the service polls the primary again, and so leaves the replica.
    const { status, headers } = await client.get(`${path}updated_since=${watermark}`, { key });
    expect([status, headers['x-sync-watermark']]).toEqual([200, watermark]);
  },
);

test('a timestamp in the future does not bypass the replica', async () => {
  expect((await list('/v1/contracts?updated_since=2999-01-01T00:00:00Z')).ids).toEqual([]);
  await primary.stop();
  expect((await client.get('/v1/contracts?limit=3', { key })).status).toBe(200);
});

test('a revoked key and grant end within a second of reaching the primary, even if the replica lacks the change', async () => {
  const [lead] = (await list('/v1/lead-entities')).ids;
  const narrow = await makePartner(database, Date.now, { name: `narrow-${made}`, leadEntities: [String(lead)] });
  const visible = async (): Promise<number> => {
    const { status, body } = await client.get('/v1/lead-entities', { key: narrow.key });
    return status === 200 ? (JSON.parse(body) as { data: unknown[] }).data.length : -status;
  };
  expect(await visible()).toBe(1);
  await replica.pauseReplay();
  await revoke(database, Date.now, narrow.name, { ...NOTHING, leadEntities: [String(lead)] });
  expect(await timeUntil(async () => (await visible()) === 0)).toBeLessThan(NOTICED_MS);
  await grant(database, Date.now, narrow.name, { ...NOTHING, leadEntities: [String(lead)] });
  expect(await timeUntil(async () => (await visible()) === 1)).toBeLessThan(NOTICED_MS);
  await revokeKey(database, Date.now, narrow.key.split('_')[2] ?? '');
  expect(await timeUntil(async () => (await visible()) === -401)).toBeLessThan(NOTICED_MS);
});

test('a rotated key is shown as it is, even if the replica lacks the change', async () => {
  await replica.pauseReplay();
  const { replaced } = await rotateKey(database, Date.now, key.split('_')[2] ?? '', 60_000);
  // Before the service polls the primary again, and so leaves the replica. The key is cached: it is not looked up.
  const { body } = await client.get('/v1/key', { key });
  expect(JSON.parse(body)).toMatchObject({ expires_at: replaced.expiresAt });
});

test('behind one address, connections to a replica that lags are left for those to one that does not', async () => {
  const [lagging, current] = [replica, otherReplica];
  const address = await startTcpProxy({ port: lagging.port });
  const replicaUrl = Object.assign(new URL(lagging.url), { port: String(address.port) }).href;
  const service = await startServicePart(workspace, primary.url, { PDS_REPLICA_URL: replicaUrl });
  const other = createClient(service.url);
  let sent = 0;
  const watermark = async (): Promise<string> => {
    const { headers } = await other.get(`/v1/suppliers?q=behind${made}x${(sent += 1)}`, { key });
    return String(headers['x-sync-watermark'] ?? '');
  };
  try {
    for (let count = 0; count < 4; count += 1) await watermark();
    await lagging.pauseReplay();
    address.moveTo(current.port, { keepOld: true });
    const { timestamp } = await publishLines(database, { coops: [{ id: 'co_behind', name: 'Behind' }] });
    await current.catchUp();
    const isNewest = async (): Promise<boolean> => (await watermark()) > String(timestamp);
    await timeUntil(isNewest);
    // From here on, only a replica can have it.
    await primary.stop();
    await timeUntil(isNewest);
    for (let count = 0; count < 20; count += 1) expect(await isNewest()).toBe(true);
  } finally {
    other.close();
    await service.stop();
    await address.close();
  }
});

testWith('postgresql', 'pgbouncer')(
  'a service reads through PgBouncer, from the primary and its replica, also after PgBouncer was restarted',
  async () => {
    const pgbouncer = await startPgBouncer(workspace, primary, replica);
    const service = await startServicePart(workspace, pgbouncer.url(), {
      PDS_REPLICA_URL: pgbouncer.url({ ofReplica: true }),
    });
    const other = createClient(service.url);
    let sent = 0;
    const isServed = async (): Promise<boolean> =>
      (await other.get(`/v1/suppliers?q=pooled${made}x${(sent += 1)}`, { key })).status === 200;
    try {
      for (const restart of [false, true]) {
        if (restart) await pgbouncer.restart();
        await timeUntil(isServed);
        for (let count = 0; count < 20; count += 1) expect(await isServed()).toBe(true);
      }
      const { timestamp } = await publishLines(database, { coops: [{ id: 'co_pooled', name: 'Pooled' }] });
      const isNewest = async (): Promise<boolean> =>
        String((await other.get('/v1/coops', { key })).headers['x-sync-watermark']) > String(timestamp);
      expect(await timeUntil(isNewest)).toBeLessThan(NOTICED_MS);
      await primary.stop();
      await timeUntil(isServed);
    } finally {
      other.close();
      await service.stop();
      await pgbouncer.stop();
    }
  },
);

test('a service refuses a standby as its primary', async () => {
  await using serving = openForServing({ engine: 'postgres', url: otherReplica.url }, null);
  await expect(serving.readRevision()).rejects.toThrow('during recovery');
});

test('a read that a replica cancels is repeated elsewhere', async () => {
  await replica.query('alter system set max_standby_streaming_delay = 0');
  await replica.query('select pg_reload_conf()');
  const countWaiting = async (): Promise<number> => {
    const waiting = `select 1 from pg_stat_activity where application_name = 'pds serve' and wait_event_type = 'Lock'`;
    return (await replica.query(waiting)).length;
  };
  const locks = new pg.Client(primary.url);
  await locks.connect();
  // A lock is not a commit, so nothing else would write the log out soon.
  const lock = async (table: string): Promise<void> => {
    await locks.query(`lock table ${table} in access exclusive mode`);
    await primary.query('select pg_switch_wal()');
  };
  try {
    // The read waits for the first lock and holds what replay needs for the second, so replay cancels the read.
    await locks.query('begin');
    await lock('catalog.coops');
    await replica.catchUp();
    const read = client.get('/v1/coops?limit=3', { key });
    await timeUntil(async () => (await countWaiting()) > 0);
    await lock('catalog.releases');
    await timeUntil(async () => (await countWaiting()) === 0);
    await locks.query('commit');
    expect((await read).status).toBe(200);
  } finally {
    await locks.end();
  }
});
