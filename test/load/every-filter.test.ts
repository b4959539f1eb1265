import { readFileSync } from 'node:fs';
import { setImmediate as nextTick } from 'node:timers/promises';
import { sql } from 'kysely';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { createTestApp } from '../http/test-app.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { combinationsOf, type FilterValues } from '../support/records/filter-combinations.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines } from '../support/publishing.ts';
import { renamed, skewedCatalog } from '../support/records/skewed-catalog.ts';
import { SKEWED_PARTNERS, skewedFilters } from '../support/records/skewed-filters.ts';

/*
 * Every combination of filters, for partners with very different scopes, on a catalog with extremely uneven data. Every
 * implementation of lists and counts must pass this.
 */

/** The database time allowed for one request. */
const MAX_DATABASE_MS = 250;

/**
 * The CPU time of this process that another partner's request may wait for: its own, that of one part of a search, and a
 * major garbage collection.
 */
const MAX_WAIT_MS = 50;

/** Tries for a request that took longer: a busy machine makes a fast request slow, but never a slow one fast. */
const MAX_TRIES = 3;

/** For one combination in this many, read the whole list and compare it with the count. */
const LIST_EVERY = 40;
const MAX_LISTED_RECORDS = 1_500;

const HOUR_MS = 3_600_000;
const START_MS = Date.now();
/** Imports and grants happen at these timestamps. */
const timestampAt = (hours: number): string => new Date(START_MS + hours * HOUR_MS).toISOString();

const UPDATED_SINCE = [timestampAt(1.5), timestampAt(3.5)];

const FILTERS = skewedFilters(UPDATED_SINCE);
type PartnerName = keyof typeof SKEWED_PARTNERS;

const keys = new Map<PartnerName, string>();
let otherKey: string;

const service = forAllTests(createTestApp);
beforeAll(async () => {
  if (inject('engine') === 'postgres') await keepStatementsInOneProcess();
  const catalog = skewedCatalog();
  const publish = (files: ReturnType<typeof skewedCatalog>, hours: number) =>
    publishLines(service.database, files, { clock: () => START_MS + hours * HOUR_MS });
  await publish(catalog, 1);
  for (const name of Object.keys(SKEWED_PARTNERS) as PartnerName[]) {
    const { key } = await makePartner(service.database, () => START_MS + 2 * HOUR_MS, SKEWED_PARTNERS[name]);
    keys.set(name, key);
  }
  ({ key: otherKey } = await makePartner(service.database, () => START_MS + 2 * HOUR_MS, {
    name: 'other',
    everything: true,
  }));
  await publish(renamed(catalog, 2), 3);
  await publish(renamed(catalog, 200), 4);
}, 600_000);

/** Makes the CPU time of a statement measurable in its connection's process alone. */
async function keepStatementsInOneProcess(): Promise<void> {
  const { kysely } = service.database;
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(kysely);
  await sql`alter database ${sql.ref(rows[0]?.name ?? '')} set max_parallel_workers_per_gather = 0`.execute(kysely);
}

interface Page {
  readonly data: { readonly id: string }[];
  readonly meta: { readonly next_cursor: string | null };
}

/** CPU time in milliseconds of requests that took, or made another partner wait, too long. */
type Slow = Map<string, number>;

/** The body of a response, or null if it failed; records requests that took too long. */
async function get<T>(partner: PartnerName, url: string, slow: Slow): Promise<T | null> {
  const once = async (): Promise<T | null> => {
    const response = await service.app.inject({
      url,
      headers: { authorization: `Bearer ${keys.get(partner) ?? ''}` },
    });
    // A statement is cancelled after 5 s, which is recorded. Everything else must be 200.
    if (response.statusCode === 500) return null;
    expect(response.statusCode, `${url}: ${response.payload}`).toBe(200);
    return response.json<T>();
  };
  const begunAtMs = performance.now();
  const { result: body, waitMs } = await whileAnotherPartnerWaits(once());
  if (waitMs > MAX_WAIT_MS) slow.set(`another partner during ${url}`, waitMs);
  // The total includes the database time, so no further measurement is needed.
  if (body !== null && performance.now() - begunAtMs <= MAX_DATABASE_MS) return body;
  let minMs = Infinity;
  for (let attempt = 1; attempt <= MAX_TRIES && minMs > MAX_DATABASE_MS; attempt += 1) {
    const before = await databaseMs();
    const repeated = await once();
    if (repeated !== null) minMs = Math.min(minMs, (await databaseMs()) - before);
  }
  if (minMs > MAX_DATABASE_MS) slow.set(url, minMs);
  return body;
}

/** Sends small requests of another partner until `work` has ended, and returns the longest that one of them took. */
async function whileAnotherPartnerWaits<T>(work: Promise<T>): Promise<{ result: T; waitMs: number }> {
  let [hasEnded, waitMs] = [false, 0];
  const ended = work.finally(() => (hasEnded = true));
  while (!hasEnded) {
    const beforeMs = threadMs();
    await nextTick();
    const response = await service.app.inject({ url: '/v1/key', headers: { authorization: `Bearer ${otherKey}` } });
    expect(response.statusCode).toBe(200);
    waitMs = Math.max(waitMs, threadMs() - beforeMs);
  }
  return { result: await ended, waitMs };
}

/** CPU time of this thread, which other programs on the machine do not increase. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The CPU time used by the database: this thread for SQLite, the backend processes for PostgreSQL. */
async function databaseMs(): Promise<number> {
  if (service.database.engine === 'sqlite') return threadMs();
  const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity
    where datname = current_database() and application_name = 'pds serve'`.execute(service.database.kysely);
  return rows.reduce((sum, { pid }) => sum + processMs(pid), 0);
}

/** Linux counts in ticks of 10 ms. */
const TICK_MS = 10;

function processMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** The first page of a list and the next one; null if one failed. */
async function getPages(partner: PartnerName, url: string, slow: Slow): Promise<Page[] | null> {
  const first = await get<Page>(partner, url, slow);
  const cursor = first?.meta.next_cursor;
  if (first === null || cursor === null || cursor === undefined) return first && [first];
  const second = await get<Page>(partner, `${url}&cursor=${cursor}`, slow);
  return second && [first, second];
}

/** All ids of a list; null if a page failed. */
async function listAll(partner: PartnerName, url: string, slow: Slow): Promise<string[] | null> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Page | null = await get(partner, `${url}&limit=100${cursor === null ? '' : `&cursor=${cursor}`}`, slow);
    if (page === null) return null;
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.meta.next_cursor;
  } while (cursor !== null);
  return ids;
}

const describeSlow = (slow: Slow): string[] =>
  [...slow].sort(([, a], [, b]) => b - a).map(([url, ms]) => `${Math.round(ms)} ms: ${url}`);

describe.each(Object.keys(SKEWED_PARTNERS) as PartnerName[])('for %s', (partner) => {
  test.each(Object.entries(FILTERS).filter(([path]) => path !== '/v1/solicitations'))(
    `no combination of filters of %s takes the database over ${MAX_DATABASE_MS} ms, or lets others wait over ${MAX_WAIT_MS} ms`,
    async (path, filters: FilterValues) => {
      const slow: Slow = new Map();
      let records = 0;
      for (const query of combinationsOf(filters)) {
        const pages = (await getPages(partner, `${path}?${query}`, slow)) ?? [];
        const ids = pages.flatMap(({ data }) => data.map(({ id }) => id));
        if (path !== '/v1/certifications') expect(ids, query).toEqual([...new Set(ids)].sort());
        records += ids.length;
      }
      expect(records).toBeGreaterThan(0);
      expect(describeSlow(slow)).toEqual([]);
    },
    300_000,
  );

  test(`no combination of filters of /v1/solicitations and its count takes the database over ${MAX_DATABASE_MS} ms, or lets others wait over ${MAX_WAIT_MS} ms`, async () => {
    const slow: Slow = new Map();
    let listed = 0;
    for (const [index, query] of combinationsOf(FILTERS['/v1/solicitations']).entries()) {
      const count = await get<{ total: number }>(partner, `/v1/solicitations/count?${query}`, slow);
      const pages = await getPages(partner, `/v1/solicitations?${query}`, slow);
      if (count === null || pages === null) continue;
      const { total } = count;
      expect(pages.flatMap(({ data }) => data).length, query).toBe(Math.min(total, 50));
      expect(pages.at(-1)?.meta.next_cursor !== null, query).toBe(total > 50);
      if (index % LIST_EVERY !== 0 || total === 0 || total > MAX_LISTED_RECORDS) continue;
      const ids = await listAll(partner, `/v1/solicitations?${query}`, slow);
      if (ids !== null) expect(ids.length, query).toBe(total);
      listed += 1;
    }
    expect(listed).toBeGreaterThan(0);
    expect(describeSlow(slow)).toEqual([]);
  }, 300_000);
});
