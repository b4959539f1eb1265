import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { recordNight } from '../../bench/measure/nights.ts';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import { setPartner } from '../../src/access/partner-admin.ts';
import { checkContents } from '../../src/checks/contents.ts';
import { listAuditEntries } from '../../src/database/audit.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { OperatorError } from '../../src/operator-error.ts';
import { createClient, type Client, type Get } from '../support/client.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines } from '../support/publishing.ts';
import { timeUntil } from '../support/time-until.ts';
import { Copy, KINDS } from '../sync/copy.ts';
import { FeedCopy } from '../sync/feed-copy.ts';
import { upgradeRolling } from '../upgrade/rolling-upgrade.ts';
import { change, COOPS, evenClock, firstCatalog, LEAD_ENTITIES, leadEntity } from '../sync/writer-process.ts';
import { disturbancesOf } from './patroni-disturbances.ts';
import { startPatroni, type PatroniCluster } from './patroni.ts';
import { PrimaryWatch } from './primary-watch.ts';

const test = testWith('postgresql', 'patroni', 'etcd', 'haproxy', 'redis', 'nginx', 'openssl', 'curl', 'psql');

const SEED = Number(process.env['CLUSTER_SEED'] ?? 1);

/** How long a server may go on with what it has. */
const GRACE_MS = 30_000;

/** How long writers repeat a step. */
const MAX_OUTAGE_MS = 60_000;

const opened = new AsyncDisposableStack();
let cluster: PatroniCluster;
let database: OpenDatabase;
let client: Client;

beforeAll(async () => {
  cluster = await startPatroni();
  opened.defer(() => cluster.close());
  database = openForCommands({ engine: 'postgres', url: cluster.databaseUrl });
  opened.use(database);
  client = createClient(cluster.url, { ca: cluster.certificate, servername: 'api.example.com' });
  opened.defer(() => client.close());
}, 90_000);
afterAll(() => opened.disposeAsync(), 30_000);
afterEach(({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(cluster.logs());
});

/** Repeats a step that is idempotent until it is acknowledged, as an operator would. */
async function persist(step: () => Promise<unknown>): Promise<void> {
  const startedMs = performance.now();
  for (;;) {
    try {
      await step();
      return;
    } catch (error) {
      // It was done before its acknowledgement was lost.
      if (error instanceof OperatorError) return;
      if (performance.now() - startedMs > MAX_OUTAGE_MS) throw error;
      await delay(100);
    }
  }
}

interface Times {
  readonly name: string;
  readonly writeMs: number;
  readonly readMs: number;
}

test('nobody loses or repeats a change, whatever part of the cluster is lost, and no service is restarted', async () => {
  const servicesBefore = cluster.services();
  const finished = new AbortController();
  const { signal } = finished;
  const isRunning = (): boolean => !signal.aborted;
  const watch = new PrimaryWatch([cluster.databaseUrl, cluster.databaseUrl.replace('.11:', '.12:')], signal);

  // Clients that follow the guide.
  const statuses = new Map<number, number>();
  const failures: { path: string; sentMs: number; receivedMs: number; body: string }[] = [];
  const get: Get = async (path, options) => {
    for (;;) {
      const sentMs = performance.now();
      const response = await client.get(path, options);
      const { status, body } = response;
      // A listing of the feed that a revocation of grants has cut short begins again, as the guide says.
      if (status === 400 && body.includes('cannot be continued')) return response;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 500) failures.push({ path, sentMs, receivedMs: performance.now(), body });
      if (status !== 500 && status !== 429) return response;
      await delay(100);
    }
  };

  await publishLines(database, firstCatalog());
  const keyOf = async (name: string, grants: object): Promise<string> =>
    (await makePartner(database, Date.now, { name, environment: 'live', ...grants })).key;
  const all = await keyOf('all', { everything: true });
  const some = await keyOf('some', { leadEntities: LEAD_ENTITIES.slice(0, 2) });
  const copies = [all, some].flatMap((key) => KINDS.map((kind) => new Copy(kind, key, get)));
  const feeds = [all, all, some, some].map((key) => ({ key, feed: new FeedCopy(key, KINDS.join()) }));

  // Writers. Every acknowledged change must be in the database at the end.
  const acknowledged = new Map<string, Record<string, unknown>>();
  let imports = 0;
  const importing = async (): Promise<void> => {
    for (const lines of fc.sample(change, { seed: SEED, numRuns: 20_000 })) {
      if (!isRunning()) return;
      await persist(() => publishLines(database, lines, { clock: evenClock }));
      imports += 1;
      for (const [kind, records] of Object.entries(lines))
        for (const record of records as { id: string }[]) acknowledged.set(`${kind} ${record.id}`, { ...record });
      await delay(100);
    }
  };
  const granting = async (): Promise<void> => {
    const step = fc.record({ isGrant: fc.boolean(), lead: leadEntity, coop: fc.constantFrom(...COOPS) });
    for (const { isGrant, lead, coop } of fc.sample(step, { seed: SEED, numRuns: 20_000 })) {
      if (!isRunning()) return;
      const grants = { everything: false, leadEntities: [lead], coops: [coop] };
      await persist(() => (isGrant ? grant : revoke)(database, evenClock, 'some', grants));
      await delay(150);
    }
  };

  // Keys that are revoked while they are in use.
  let revocations = 0;
  let latestMs = 0;
  const revoking = async (): Promise<void> => {
    while (isRunning()) {
      const { key } = await issueLive('some');
      for (let turn = 0; turn < 4; turn += 1) expect((await get('/v1/key', { key })).status).toBe(200);
      await persist(() => revokeKey(database, evenClock, key.split('_')[2] ?? ''));
      const revokedMs = performance.now();
      revocations += 1;
      for (let refused = 0; refused < 4 && isRunning();) {
        const sentMs = performance.now();
        const { status } = await client.get('/v1/coops', { key });
        if (status === 200) latestMs = Math.max(latestMs, sentMs - revokedMs);
        refused = status === 401 ? refused + 1 : 0;
        await delay(1_200);
      }
    }
  };
  async function issueLive(name: string): Promise<{ key: string }> {
    const issued: { key: string }[] = [];
    // If it was not acknowledged, there is one more key.
    await persist(async () => {
      issued.push(await issueKey(database, evenClock, name, { environment: 'live', lifetimeMs: null }));
    });
    return issued[0] ?? expect.fail();
  }

  // Keys that no service has cached: who they are must be read from the primary.
  const fresh: string[] = [];
  for (let count = 0; count < 12; count += 1) fresh.push((await issueLive('all')).key);
  const times: Times[] = [];
  const measure = async (name: string, startedMs: number): Promise<void> => {
    const key = fresh.pop() ?? expect.fail();
    const since = async (work: Promise<unknown>): Promise<number> => {
      await work;
      return Math.round(performance.now() - startedMs);
    };
    const settings = { requestsPerMinute: 1_000_000 + times.length };
    const [writeMs, readMs] = await Promise.all([
      since(delay(100).then(() => persist(() => setPartner(database, evenClock, 'all', settings)))),
      since(delay(100).then(() => get('/v1/key', { key }))),
    ]);
    times.push({ name, writeMs, readMs });
  };

  const losePrimary = async (name: string, lose: (leader: string) => Promise<unknown>): Promise<string> => {
    const leader = await cluster.leader();
    const startedMs = performance.now();
    await lose(leader);
    await measure(name, startedMs);
    return leader;
  };
  const disturbances = disturbancesOf(cluster, losePrimary);
  const [crash = '', switchover = '', ...others] = Object.keys(disturbances);
  const everyDisturbance = [crash, crash, crash, switchover, switchover, ...others];

  const clients = [
    ...copies.map((copy) => () => copy.sync()),
    ...feeds.map(
      ({ feed }) =>
        () =>
          feed.sync(get),
    ),
  ].map(async (sync) => {
    while (isRunning()) {
      await sync();
      await delay(100);
    }
  });
  const writers = [importing(), granting(), revoking()];
  const disturbing = async (): Promise<void> => {
    const [order = []] = fc.sample(fc.shuffledSubarray(everyDisturbance, { minLength: everyDisturbance.length }), {
      seed: SEED,
      numRuns: 1,
    });
    for (const name of order) {
      const startedMs = performance.now();
      await disturbances[name]?.();
      await cluster.heal();
      await delay(1_000);
      process.stdout.write(`${name}: healed after ${Math.round(performance.now() - startedMs)} ms\n`);
    }
  };
  const everything = [...clients, ...writers, disturbing().finally(() => finished.abort())];
  try {
    await Promise.all(everything);
  } finally {
    finished.abort();
    await Promise.allSettled(everything);
    process.stdout.write(
      `${JSON.stringify({ statuses: Object.fromEntries(statuses), imports, revocations, latestMs, times })}\n`,
    );
  }

  const record = (bound: string, values: readonly number[], trials = values.length): void =>
    recordNight({ bound, engine: 'postgres', unit: 'ms', max: Math.ceil(Math.max(...values)), trials });
  for (const [name, own] of Map.groupBy(times, (time) => time.name)) {
    record(`no writes: ${name}`, own.map(({ writeMs }) => writeMs)); // prettier-ignore
    record(`no reads for new keys: ${name}`, own.map(({ readMs }) => readMs)); // prettier-ignore
  }
  record('a revoked key works, during failovers', [latestMs], revocations);

  expect([...statuses.keys()].filter((status) => ![200, 304, 429, 500].includes(status))).toEqual([]);
  expect(failures.filter(({ sentMs, receivedMs }) => !watch.excuses(sentMs, receivedMs))).toEqual([]);
  expect(latestMs).toBeLessThan(GRACE_MS);
  expect(cluster.services()).toEqual(servicesBefore);
  // Nobody has to run `pds recover`: Patroni ran `ops/cluster/promoted.sh`.
  const check = () => checkContents(database, 'production', Date.now);
  await timeUntil(async () => !(await check()).findings.some(({ about }) => about === 'history'));
  const actions = (await listAuditEntries(database, Date.now, { days: 1, partner: null })).map(({ action }) => action);
  expect(actions).toContain('promote');
  expect(actions).not.toContain('recover');

  // Everybody has what is there, and that is all that was acknowledged.
  for (const copy of copies) {
    const { records, watermark } = await copy.listWith(get);
    await copy.syncTo(watermark);
    for (const record of records) expect(copy.records.get(record.id)).toEqual(record);
    expect(await copy.sync()).toBe(0);
  }
  for (const { key, feed } of feeds) {
    await feed.sync(get);
    const listed = new Map<string, object>();
    for (const kind of KINDS)
      for (const record of await new Copy(kind, key, get).listAll()) listed.set(`${kind} ${record.id}`, record);
    expect([...feed.records.keys()].sort()).toEqual([...listed.keys()].sort());
    // The feed has whole records.
    for (const [id, record] of feed.records) expect(record, id).toMatchObject(listed.get(id) ?? expect.fail(id));
  }
  for (const copy of copies.slice(0, KINDS.length)) {
    for (const [id, { name, title }] of acknowledged) {
      const [kind = '', record = ''] = id.split(' ');
      const isShown = kind === copy.kind && acknowledged.get(id)?.['status'] !== 'draft';
      if (isShown) expect(copy.records.get(record)).toMatchObject(name === undefined ? { title } : { name });
    }
  }
}, 240_000);

test('the cluster stays up while services of the version before are replaced, without one failed request', async () => {
  const workspace = new Workspace();
  try {
    const url = new URL(cluster.databaseUrl);
    const as = { username: 'postgres', password: cluster.superuserPassword };
    const superuser = new pg.Client(Object.assign(new URL(url), as).href);
    await superuser.connect();
    await superuser.query('create database upgrade owner pds');
    await superuser.end();
    await upgradeRolling(workspace, Object.assign(url, { pathname: '/upgrade' }).href);
  } finally {
    await workspace.close();
  }
}, 120_000);

test('Patroni has every metric of the alerts and the dashboard', async () => {
  const response = await fetch(`${cluster.patroniUrl}/metrics`);
  const scraped = new Set([...(await response.text()).matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name));
  const files = ['alerts.yml', 'grafana-dashboard.json'].map((name) =>
    readFileSync(new URL(`../../ops/${name}`, import.meta.url), 'utf8'),
  );
  const named = new Set(files.join().match(/\bpatroni_\w+/g));
  expect(named.size).toBeGreaterThan(4);
  expect([...named].filter((name) => !scraped.has(name))).toEqual([]);
});
