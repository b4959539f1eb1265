import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeAll, beforeEach, describe, expect } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { revokeKey } from '../../src/access/key-admin.ts';
import { publish } from '../../src/publishing/publish.ts';
import { listSources } from '../../src/publishing/read/source.ts';
import { PARTNERS } from '../conformance/modelled-service.ts';
import { ResponseCheck } from '../conformance/response-check.ts';
import { loadModel, type Model, type PublishedDirectory } from '../model/model.ts';
import { requestsAbout } from '../model/requests.ts';
import { startCluster } from '../support/cluster/cluster.ts';
import { dataOf, listAllPages } from '../support/client.ts';
import { createDirectories } from '../support/data.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { makePartner, type TestPartner } from '../support/partners.ts';
import { publishLines, supplier } from '../support/publishing.ts';
import { Copy, KINDS } from '../sync/copy.ts';
import { firstCatalog, LEAD_ENTITIES, startWriter } from '../sync/writer-process.ts';
import { DISTURBANCES } from './disturbances.ts';
import { Outages, PatientClient } from './outages.ts';

const test = testWith('postgresql', 'pgbouncer', 'redis', 'nginx', 'openssl');

/** Enough to reach each service and each server behind it. */
const REQUESTS_MEANWHILE = 40;

/** One second, plus a margin for a machine busy with other tests. */
const MAX_STALE_MS = 1_000 + 1_500;

let model: Model;
const published: PublishedDirectory[] = [];
const partners: TestPartner[] = [];
/** Shared by all tests: the next one can begin while the cluster is still recovering. */
const outages = new Outages();
let client: PatientClient;

const cluster = forAllTests(startCluster);
beforeAll(async () => {
  const records = createDirectories(1);
  const publishEach = async (paths: readonly string[]): Promise<void> => {
    for (const path of paths) {
      const { timestamp } = await publish(cluster.database, await listSources(path), { clock: Date.now });
      published.push({ path, publishedAt: timestamp ?? '' });
    }
  };
  await publishEach(records.first);
  for (const partner of PARTNERS) partners.push(await makePartner(cluster.database, Date.now, partner));
  await publishEach(records.later);
  model = loadModel(published);
  records.remove();
  await cluster.catchUp();
}, 120_000);
beforeEach(() => {
  client = new PatientClient(cluster.client.get, outages);
});
afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return;
  process.stderr.write(cluster.logs());
  await cluster.heal();
});

/** Runs every disturbance while `work` continues from call to call. */
async function disturbDuring(work: (() => Promise<unknown>)[]): Promise<void> {
  const finished = new AbortController();
  const meanwhile = (): Promise<void> => client.waitForRequests(REQUESTS_MEANWHILE, finished.signal);
  const disturbing = async (): Promise<void> => {
    for (const disturbance of DISTURBANCES) {
      await meanwhile();
      await disturbance.run(cluster, outages, meanwhile);
    }
    await meanwhile();
  };
  const all = work.map(async (step) => {
    while (!finished.signal.aborted) await step();
  });
  all.push(disturbing().finally(() => finished.abort()));
  try {
    await Promise.all(all);
  } finally {
    finished.abort();
    await Promise.allSettled(all);
  }
}

test('every response equals plain filters finished all records, or is a 500 while the primary is down, during every disturbance', async () => {
  const responses = new ResponseCheck(model, client.get, () => new Date().toISOString());
  const checks = partners.map((partner, seed) => {
    const { scope } = partner;
    const granted = [scope.everythingSince, ...Object.values(scope.leadEntities), ...Object.values(scope.coops)];
    const timestamps = [...published.map(({ publishedAt }) => publishedAt), ...granted.filter((at) => at !== null)];
    const requests = fc.sample(requestsAbout(model, timestamps), { seed, numRuns: 300 });
    let turn = 0;
    return async () => {
      const request = requests[turn++ % requests.length];
      if (request !== undefined) await responses.check(partner, request);
    };
  });
  await disturbDuring(checks);
}, 120_000);

test('a sync misses nothing that changed or became visible during every disturbance', async () => {
  const { database, databaseConfig, reference } = cluster;
  await publishLines(database, firstCatalog());
  const names = ['all', 'some', 'few'] as const;
  const grants = { all: { everything: true }, some: { leadEntities: LEAD_ENTITIES.slice(0, 2) }, few: {} };
  const copies: Copy[] = [];
  for (const name of names) {
    const { key } = await makePartner(database, Date.now, { name, ...grants[name] });
    copies.push(...KINDS.map((kind) => new Copy(kind, key, client.get)));
  }
  const writers = [
    startWriter({ database: databaseConfig, role: 'importer', seed: 1, rounds: 10_000, clockSkewMs: 4_000 }),
    startWriter({ database: databaseConfig, role: 'granter', seed: 2, rounds: 10_000, clockSkewMs: 4_000 }),
  ];
  await disturbDuring(copies.map((copy) => () => copy.sync())).finally(() => {
    for (const writer of writers) writer.stop();
  });
  expect(await Promise.all(writers.map(({ exited }) => exited))).toEqual([0, 0]);

  await cluster.catchUp();
  for (const copy of copies) {
    const { records, watermark } = await copy.listWith(reference.get);
    await copy.syncTo(watermark);
    for (const record of records) expect(copy.records.get(record.id)).toEqual(record);
  }
  // Without changes, a sync receives nothing.
  for (const copy of copies) expect(await copy.sync()).toBe(0);
}, 120_000);

describe('limits through the load balancer', () => {
  const QUOTA = 60;
  const ALONE = /counts by itself/g;
  const fallbacks = (): number => cluster.services.flatMap((service) => service.output().match(ALONE) ?? []).length;
  let partnersSoFar = 0;

  /** How many of 200 requests of a new partner pass; all others must be rejected as the guide describes. */
  async function countPassing(): Promise<number> {
    partnersSoFar += 1;
    const name = `limited-${partnersSoFar}`;
    const { key } = await makePartner(cluster.database, Date.now, { name, everything: true, requestsPerMinute: QUOTA });
    const responses = await Promise.all(Array.from({ length: 200 }, () => cluster.client.get('/v1/coops', { key })));
    const refused = responses.filter(({ status }) => status !== 200);
    for (const { status, headers, body } of refused) {
      expect(status).toBe(429);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(JSON.parse(body)).toMatchObject({ error: { code: 'rate_limited', request_id: headers['x-request-id'] } });
    }
    return responses.length - refused.length;
  }

  /**
   * Like `countPassing`, with both services counting in Redis throughout; repeated if Redis responds too late on a busy
   * machine.
   */
  async function countPassingShared(): Promise<number> {
    for (;;) {
      for (const service of cluster.services) await service.countsInRedis();
      const before = fallbacks();
      const passing = await countPassing();
      // The log is written up to 20 ms later.
      await delay(100);
      if (fallbacks() === before) return passing;
    }
  }

  test('are exact to the request across both services, those of each service without Redis, and exact again afterwards', async () => {
    expect(await countPassingShared()).toBe(QUOTA);
    await cluster.redis.kill();
    const passed = await countPassing();
    expect(passed).toBeGreaterThanOrEqual(QUOTA);
    expect(passed).toBeLessThanOrEqual(cluster.services.length * QUOTA);
    await cluster.redis.start();
    expect(await countPassingShared()).toBe(QUOTA);
  });
});

describe('while replicas lag', () => {
  beforeEach(async () => {
    await cluster.catchUp();
    for (const replica of cluster.replicas) await replica.pauseReplay();
  });
  afterEach(async () => {
    for (const replica of cluster.replicas) await replica.resumeReplay();
    await cluster.catchUp();
  });

  /**
   * Repeats a request, makes a change meanwhile, and continues until well after the last stale response is allowed;
   * returns how long after the change stale responses were still requested.
   */
  async function staleForMs(send: () => Promise<boolean>, change: () => Promise<unknown>): Promise<number> {
    // Caches the response in both services.
    for (let time = 0; time < 8; time += 1) expect(await send()).toBe(false);
    await change();
    const changedAtMs = performance.now();
    let lastStaleAtMs = changedAtMs;
    while (performance.now() < changedAtMs + MAX_STALE_MS + 500) {
      const sentAtMs = performance.now();
      if (!(await send())) lastStaleAtMs = sentAtMs;
    }
    return lastStaleAtMs - changedAtMs;
  }

  test('a key stops working within a second of its revocation on the primary', async () => {
    const { key } = await makePartner(cluster.database, Date.now, { name: 'leaked', everything: true });
    const isRefused = async (): Promise<boolean> => {
      const { status } = await client.get('/v1/coops', { key });
      expect([200, 401, 429]).toContain(status);
      return status !== 200;
    };
    const staleMs = await staleForMs(isRefused, () =>
      revokeKey(cluster.database, Date.now, /_([^_]{8})_/.exec(key)?.[1] ?? ''),
    );
    expect(staleMs).toBeLessThan(MAX_STALE_MS);
  });

  test('changed grants take effect within a second of reaching the primary', async () => {
    const grants = { everything: false, leadEntities: ['le_city_of_pittsburgh_d85d'], coops: [] };
    const name = 'changing';
    const { key } = await makePartner(cluster.database, Date.now, { name, ...grants });
    const total = async (): Promise<number> => {
      return dataOf(...(await listAllPages(client.get, '/v1/contracts', key, [100]))).length;
    };
    const isEmpty = async (): Promise<boolean> => (await total()) === 0;
    const isFull = async (): Promise<boolean> => !(await isEmpty());
    const revokedMs = await staleForMs(isEmpty, () => revoke(cluster.database, Date.now, name, grants));
    const grantedMs = await staleForMs(isFull, () => grant(cluster.database, Date.now, name, grants));
    expect(Math.max(revokedMs, grantedMs)).toBeLessThan(MAX_STALE_MS);
  });

  test('a release is served within a second of reaching the primary', async () => {
    const { key } = await makePartner(cluster.database, Date.now, { name: 'reader', everything: true });
    const isNew = async (): Promise<boolean> => {
      const detail = await client.get('/v1/suppliers/sup_0', { key });
      const list = await client.get('/v1/suppliers?q=newly+published', { key });
      const names = [detail.body, list.body].filter((body) => body.includes('Newly published'));
      return names.length === 2;
    };
    const change = () =>
      publishLines(cluster.database, {
        suppliers: [{ ...supplier('sup_0'), name: 'Newly published', certifications: [], city_service_ids: [] }],
      });
    expect(await staleForMs(isNew, change)).toBeLessThan(MAX_STALE_MS);
  });
});
