import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { revokeKey } from '../../src/access/key-admin.ts';
import { openForCommands, type OpenDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrator.ts';
import { createClient, type Answer, type Client } from '../support/client.ts';
import { startPrimary, startReplica, type PostgresPart, type ReplicaPart } from '../support/cluster/postgres.ts';
import { startServicePart } from '../support/cluster/service.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';

const test = testWith('postgresql');

/** A process notices changes within one second; the rest is for a busy machine. */
const KNOWN_MS = 2_500;
const NOBODY = { everything: false, leadEntities: [], coops: [] };

let workspace: Workspace;
let primary: PostgresPart;
let replicas: ReplicaPart[];
let database: OpenDatabase;
let client: Client;
let key: string;
let made = 0;

beforeAll(async () => {
  workspace = new Workspace();
  primary = await startPrimary(workspace);
  database = openForCommands({ engine: 'postgres', url: primary.url });
  await migrate(database, Date.now);
  await publishLines(database, SMALL_CATALOG);
  replicas = [await startReplica(workspace, 'replica-1', primary), await startReplica(workspace, 'replica-2', primary)];
  const service = await startServicePart(workspace, primary.url, {
    PDS_REPLICA_URLS: replicas.map(({ url }) => url).join(),
  });
  client = createClient(service.url);
}, 60_000);
afterAll(async () => {
  client.close();
  await database.close();
  await workspace.close();
});
beforeEach(async () => {
  made += 1;
  ({ key } = await makePartner(database, Date.now, { name: `partner-${made}`, everything: true }));
  await replicasAnswer();
});
afterEach(async () => {
  await primary.start();
  for (const replica of replicas) {
    await replica.start();
    await replica.resumeReplay();
    await replica.catchUp();
  }
});

async function list(
  path: string,
): Promise<{ ids: string[]; cursor: string | null; watermark: string; answer: Answer }> {
  const answer = await client.get(path, { key });
  expect(answer.status, answer.body).toBe(200);
  const { data, meta } = JSON.parse(answer.body) as { data: { id: string }[]; meta: { next_cursor: string | null } };
  return {
    ids: data.map(({ id }) => id),
    cursor: meta.next_cursor,
    watermark: String(answer.headers['x-sync-watermark']),
    answer,
  };
}

async function publishCoops(...names: string[]): Promise<void> {
  await publishLines(database, { coops: names.map((name) => ({ id: name, name })) });
}

async function until(isSo: () => Promise<boolean>): Promise<number> {
  const startedAt = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAt > 15_000) throw new Error('it did not come about');
    await delay(20);
  }
  return performance.now() - startedAt;
}

/** Waits until the service reads from each replica. */
async function replicasAnswer(): Promise<void> {
  const startedAt = new Date();
  const reads = `select 1 from pg_stat_activity
    where application_name = 'pds serve' and query like '%from catalog.publications%' and query_start > $1`;
  let asked = 0;
  await until(async () => {
    await client.get(`/v1/suppliers?q=asked${made}x${(asked += 1)}`, { key });
    const rows = await Promise.all(replicas.map((replica) => replica.query(reads, [startedAt])));
    return rows.every(({ length }) => length > 0);
  });
}

test('replicas that are up to date answer, also while the primary is away', async () => {
  await primary.stop();
  for (const path of ['/v1/contracts?limit=1', '/v1/suppliers?q=a', '/v1/solicitations/count', '/v1/lead-entities']) {
    expect((await client.get(path, { key })).status).toBe(200);
  }
});

test('without replicas the primary answers, and none of the questions that were under way fails', async () => {
  await list('/v1/coops');
  const statuses: number[] = [];
  let isOver = false;
  const asking = Array.from({ length: 4 }, async (_, client_) => {
    for (let at = 0; !isOver; at += 1) {
      statuses.push((await client.get(`/v1/contracts?q=w${client_}x${at}`, { key })).status);
    }
  });
  for (const replica of replicas) await replica.kill();
  await delay(300);
  isOver = true;
  await Promise.all(asking);
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(statuses.length).toBeGreaterThan(10);
});

test('what a lagging replica has not got yet is answered by the primary, within a second of its publication', async () => {
  await list('/v1/coops');
  for (const replica of replicas) await replica.pauseReplay();
  await publishCoops(`new-${made}`);
  expect(await until(async () => (await list('/v1/coops?limit=100')).ids.includes(`new-${made}`))).toBeLessThan(
    KNOWN_MS,
  );
  // From here on, every response contains it.
  for (let limit = 50; limit < 100; limit += 1) {
    expect((await list(`/v1/coops?limit=${limit}`)).ids).toContain(`new-${made}`);
  }
});

test('a walk that begins at the primary goes on there, where the replicas lag behind its watermark', async () => {
  const other = await startServicePart(workspace, primary.url);
  const first = createClient(other.url);
  try {
    await list('/v1/coops');
    for (const replica of replicas) await replica.pauseReplay();
    await publishCoops(...Array.from({ length: 30 }, (_, at) => `walk-${made}-${String(at).padStart(2, '0')}`));
    // The other process knows of the import; this one gets the request before it can.
    const page = await first.get(`/v1/coops?limit=10`, { key });
    const { meta } = JSON.parse(page.body) as { meta: { next_cursor: string } };
    const rest = await list(`/v1/coops?limit=100&cursor=${meta.next_cursor}`);
    expect(rest.answer.headers['x-sync-watermark']).toBe(page.headers['x-sync-watermark']);
    expect(rest.ids.filter((id) => id.startsWith(`walk-${made}-`)).length).toBeGreaterThanOrEqual(20);
  } finally {
    first.close();
    await other.stop();
  }
});

test('a client that has seen more than a replica is told no older watermark, and loses nothing', async () => {
  const before = await list('/v1/contracts?limit=100');
  for (const replica of replicas) await replica.pauseReplay();
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

test('an instant of the future is nothing that replicas are distrusted for', async () => {
  expect((await list('/v1/contracts?updated_since=2999-01-01T00:00:00Z')).ids).toEqual([]);
  await primary.stop();
  expect((await client.get('/v1/contracts?limit=3', { key })).status).toBe(200);
});

test('a revoked key and a revoked grant end within a second of reaching the primary, though no replica has heard of it', async () => {
  const [lead] = (await list('/v1/lead-entities')).ids;
  const narrow = await makePartner(database, Date.now, { name: `narrow-${made}`, leadEntities: [String(lead)] });
  const visible = async (): Promise<number> => {
    const { status, body } = await client.get('/v1/lead-entities', { key: narrow.key });
    return status === 200 ? (JSON.parse(body) as { data: unknown[] }).data.length : -status;
  };
  expect(await visible()).toBe(1);
  for (const replica of replicas) await replica.pauseReplay();
  await revoke(database, Date.now, narrow.name, { ...NOBODY, leadEntities: [String(lead)] });
  expect(await until(async () => (await visible()) === 0)).toBeLessThan(KNOWN_MS);
  await grant(database, Date.now, narrow.name, { ...NOBODY, leadEntities: [String(lead)] });
  expect(await until(async () => (await visible()) === 1)).toBeLessThan(KNOWN_MS);
  await revokeKey(database, Date.now, narrow.key.split('_')[2] ?? '');
  expect(await until(async () => (await visible()) === -401)).toBeLessThan(KNOWN_MS);
});

test('a read that a replica cancels is answered all the same', async () => {
  await list('/v1/coops');
  // Replay conflicts with the replica's reads, and does not wait for them.
  for (const replica of replicas) {
    await replica.query('alter system set max_standby_streaming_delay = 0');
    await replica.query('select pg_reload_conf()');
  }
  const statuses = new Set<number>();
  let isOver = false;
  const asking = Array.from({ length: 4 }, async (_, client_) => {
    for (let at = 0; !isOver; at += 1) {
      statuses.add((await client.get(`/v1/suppliers?q=w${client_}x${at}`, { key })).status);
    }
  });
  for (let round = 0; (await countCancelled()) === 0; round += 1) {
    await publishCoops(`round-${made}-${round}`);
    await primary.query('vacuum full catalog.suppliers');
  }
  isOver = true;
  await Promise.all(asking);
  expect(statuses).toEqual(new Set([200]));
});

/** The number of queries that the replicas cancelled because of replay conflicts. */
async function countCancelled(): Promise<number> {
  const text = 'select sum(confl_lock + confl_snapshot)::int as count from pg_stat_database_conflicts';
  const rows = await Promise.all(replicas.map((replica) => replica.query<{ count: number }>(text)));
  return rows.flat().reduce((sum, { count }) => sum + count, 0);
}
