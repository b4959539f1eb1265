import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statfsSync, statSync } from 'node:fs';
import { get } from 'node:http';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { grant } from '../../src/access/grant-admin.ts';
import { revokeKey } from '../../src/access/key-admin.ts';
import { createPartner } from '../../src/access/partner-admin.ts';
import { readLastEvent } from '../../src/database/event-log.ts';
import { listCatalogFiles } from '../../src/database/sqlite/file-names.ts';
import { backup } from '../../src/recovery/backup.ts';
import { databaseForAllTests } from '../support/database.ts';
import { getAdmin, scrape } from '../support/process/administrator.ts';
import type { Client } from '../support/client.ts';
import { testWith } from '../support/installed-programs.ts';
import { makePartner } from '../support/partners.ts';
import { contract, publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

let serving: Serving;
let client: Client;
let admin: number;
let publishedAt: string;
/** Of the partner `acme`. */
let key: string;
let keyOfSmall: string;

const made = databaseForAllTests();
beforeAll(async () => {
  ({ key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true }));
  const small = { name: 'small', everything: true, requestsPerMinute: 3 };
  ({ key: keyOfSmall } = await makePartner(made.database, Date.now, small));
  publishedAt = (await publishLines(made.database, SMALL_CATALOG)).timestamp ?? '';
  serving = startServing(made.config);
  client = await serving.client();
  admin = await serving.adminPort();
});
afterAll(() => serving.close());

/** The increase of each sample with this prefix while `work` runs; unchanged ones are omitted. */
async function growth(name: string, work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await scrape(admin);
  await work();
  const after = await scrape(admin);
  const grown = [...after].map(([sample, value]) => [sample, value - (before.get(sample) ?? 0)] as const);
  return Object.fromEntries(grown.filter(([sample, value]) => sample.startsWith(name) && value !== 0));
}

describe('a scrape counts', () => {
  test('requests by endpoint, status and partner, including cached responses', async () => {
    const grown = await growth('pds_http_requests_total', async () => {
      const { headers } = await client.get('/v1/contracts', { key });
      for (let time = 0; time < 3; time += 1) await client.get('/v1/contracts', { key });
      await client.get('/v1/contracts', { key, headers: { 'if-none-match': String(headers.etag) } });
      await client.get('/v1/contracts/ctr_1', { key });
      await client.get('/v1/contracts/no_such', { key });
      await client.get('/v1/contracts?limit=0', { key });
      await client.get('/v1/nothing-here', { key });
      await client.get('/v1/contracts');
      await client.get('/health');
    });
    expect(grown).toEqual({
      'pds_http_requests_total{route="/v1/contracts",status="200",partner="acme"}': 4,
      'pds_http_requests_total{route="/v1/contracts",status="304",partner="acme"}': 1,
      'pds_http_requests_total{route="/v1/contracts/:id",status="200",partner="acme"}': 1,
      'pds_http_requests_total{route="/v1/contracts/:id",status="404",partner="acme"}': 1,
      'pds_http_requests_total{route="/v1/contracts",status="400",partner="acme"}': 1,
      'pds_http_requests_total{route="none",status="404",partner="acme"}': 1,
      'pds_http_requests_total{route="/v1/contracts",status="401",partner=""}': 1,
      'pds_http_requests_total{route="/health",status="200",partner=""}': 1,
    });
  });

  test('a request once, even if its client disconnected', async () => {
    const grown = await growth('pds_http_requests_total{route="/openapi.json"', async () => {
      const sent = get({ port: await serving.port(), host: '127.0.0.1', path: '/openapi.json', agent: false });
      sent.on('error', () => undefined);
      await once(sent, 'response');
      sent.destroy();
      await once(sent, 'close');
    });
    // The whole response could have been written before.
    expect(Object.values(grown)).toEqual([1]);
  });

  test('the records sent', async () => {
    const { headers } = await client.get('/v1/suppliers?limit=2', { key });
    const grown = await growth('pds_records_total', async () => {
      await client.get('/v1/suppliers?limit=2', { key });
      await client.get('/v1/suppliers?limit=2', { key, headers: { 'if-none-match': String(headers.etag) } });
      await client.get('/v1/suppliers/sup_1', { key });
    });
    expect(grown).toEqual({
      'pds_records_total{route="/v1/suppliers",partner="acme"}': 2,
      'pds_records_total{route="/v1/suppliers/:id",partner="acme"}': 1,
    });
  });

  test('each request in its duration bucket and all larger ones', async () => {
    const name = 'pds_http_request_duration_seconds';
    const grown = await growth(name, async () => {
      for (let time = 0; time < 5; time += 1) await client.get('/v1/coops', { key });
    });
    const bounds = Object.entries(grown).filter(([sample]) => sample.startsWith(`${name}_bucket{`));
    const counts = bounds.map(([, count]) => count);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts.at(-1)).toBe(5);
    expect(grown[`${name}_count{route="/v1/coops"}`]).toBe(5);
    const seconds = grown[`${name}_sum{route="/v1/coops"}`] ?? 0;
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThan(5 * 5);
  });

  test('requests with a key that was revoked as those of its partner', async () => {
    const left = await makePartner(made.database, Date.now, { name: 'left', everything: true });
    await revokeKey(made.database, Date.now, left.key.split('_')[2] ?? '');
    const grown = await growth('pds_http_requests_total', () => client.get('/v1/coops', { key: left.key }));
    expect(grown).toEqual({ 'pds_http_requests_total{route="/v1/coops",status="401",partner="left"}': 1 });
  });

  test("requests refused by a partner's limit, and invalid keys", async () => {
    const grown = await growth('pds_', async () => {
      for (let time = 0; time < 5; time += 1) await client.get('/v1/coops', { key: keyOfSmall });
      for (let time = 0; time < 62; time += 1) await client.get('/v1/coops', { key: 'wrong' });
    });
    expect(grown).toMatchObject({
      'pds_limited_requests_total{partner="small"}': 2,
      'pds_http_requests_total{route="/v1/coops",status="429",partner="small"}': 2,
    });
    const refused = grown['pds_failed_authentications_total{outcome="refused"}'] ?? 0;
    const limited = grown['pds_failed_authentications_total{outcome="limited"}'] ?? 0;
    expect(refused + limited).toBe(62);
    // Other tests in this file failed authentication within the same minute.
    expect(limited).toBeGreaterThanOrEqual(2);
    expect(grown['pds_http_requests_total{route="/v1/coops",status="401",partner=""}']).toBe(refused);
  });

  test('cache hits and misses', async () => {
    const grown = await growth('pds_response_cache', async () => {
      for (let time = 0; time < 4; time += 1) await client.get('/v1/city-services?limit=7', { key });
    });
    expect(grown).toMatchObject({
      pds_response_cache_hits_total: 3,
      pds_response_cache_misses_total: 1,
      pds_response_cache_entries: 1,
    });
    expect(grown['pds_response_cache_bytes']).toBeGreaterThan(100);
  });
});

describe('a scrape shows', () => {
  test('that the database is up, and the time of the last release', async () => {
    const samples = await scrape(admin);
    expect(samples.get('pds_database_up')).toBe(1);
    expect(samples.get('pds_database_version_age_seconds')).toBeLessThan(3);
    const lastEvent = async () => Date.parse(await readLastEvent(made.database)) / 1000;
    expect(samples.get('pds_last_event_timestamp_seconds')).toBe(await lastEvent());
    expect(samples.get('pds_last_release_timestamp_seconds')).toBe(Date.parse(publishedAt) / 1000);
    const again = await publishLines(made.database, { coops: [{ id: 'co_y', name: 'Coop Y' }] });
    const last = await lastEvent();
    let later = await scrape(admin);
    while (later.get('pds_last_event_timestamp_seconds') !== last) later = await scrape(admin);
    expect(later.get('pds_last_release_timestamp_seconds')).toBe(Date.parse(again.timestamp ?? '') / 1000);
  });

  test('when an import last succeeded, also one without a change', async () => {
    await publishLines(made.database, { coops: [{ id: 'co_y', name: 'Coop Y' }] });
    const before = (await scrape(admin)).get('pds_last_import_timestamp_seconds') ?? 0;
    await publishLines(made.database, { coops: [{ id: 'co_y', name: 'Coop Y' }] });
    const samples = await scrape(admin);
    const [release = 0, last = 0] = ['release', 'import'].map((of) => samples.get(`pds_last_${of}_timestamp_seconds`));
    expect(last).toBeGreaterThan(before);
    expect(last).toBeGreaterThan(release);
    expect(last).toBeLessThan(Date.now() / 1000 + 5);
  });

  test('the partners that are granted something and see nothing, until they see something', async () => {
    const { database } = made;
    const shown = async () => [...(await scrape(admin)).keys()].filter((name) => name.startsWith('pds_partner_sees'));
    for (const name of ['new', 'blind']) await createPartner(database, Date.now, name, { everything: false });
    await publishLines(database, { 'lead-entities': [{ id: 'le_c', name: 'City of C' }] });
    const grants = { everything: false, leadEntities: ['le_c'], coops: [] };
    await grant(database, Date.now, 'blind', grants);
    await expect.poll(shown).toEqual(['pds_partner_sees_nothing{partner="blind"}']);
    await publishLines(database, { contracts: [{ ...contract('ctr_9'), lead_entity_id: 'le_c' }] });
    await expect.poll(shown).toEqual([]);
  });

  test("the free space of SQLite's disk, and the size of the catalog", async () => {
    const samples = await scrape(admin);
    const { config } = made;
    if (config.engine === 'postgres') {
      expect([...samples.keys()].filter((name) => /^pds_(disk|catalog)_/.test(name))).toEqual([]);
      return;
    }
    const sizes = listCatalogFiles(config.path).map((file) => statSync(file).size);
    expect(samples.get('pds_catalog_bytes')).toBe(Math.max(...sizes));
    const { blocks, bsize } = statfsSync(dirname(config.path));
    expect(samples.get('pds_disk_free_bytes')).toBeGreaterThan(1e6);
    expect(samples.get('pds_disk_free_bytes')).toBeLessThanOrEqual(blocks * bsize);
  });

  test('the time of the last backup, on PostgreSQL if one was recorded', async () => {
    const shown = async () => (await scrape(admin)).get('pds_last_backup_timestamp_seconds');
    const { config } = made;
    if (config.engine === 'postgres') {
      expect(await shown()).toBeUndefined();
      const record = readFileSync(new URL('../../ops/record-backup.sql', import.meta.url), 'utf8');
      for (let time = 0; time < 2; time += 1) await sql.raw(record).execute(made.database.kysely);
      expect(Math.abs(((await shown()) ?? 0) - Date.now() / 1000)).toBeLessThan(30);
      return;
    }
    expect(await shown()).toBe(0);
    const { made_at: madeAt } = await backup(config.path, `${config.path}.backup`, { clock: Date.now });
    expect(await shown()).toBe(Date.parse(madeAt) / 1000);
  });

  test("Node's process metrics and the build", async () => {
    const samples = await scrape(admin);
    expect(samples.get('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
    expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
    const info = [...samples.keys()].find((sample) => sample.startsWith('pds_build_info'));
    expect(info).toMatch(
      new RegExp(`^pds_build_info{version="\\d+\\.\\d+\\.\\d+",node_version="v\\d.*",engine="${inject('engine')}"}$`),
    );
  });

  test('no key, and no part of one', async () => {
    const { body } = await getAdmin(admin, '/metrics');
    expect(body).toContain('acme');
    for (const each of [key, keyOfSmall]) {
      expect(body).not.toContain(each);
      expect(body).not.toContain(each.split('_')[2]);
    }
  });

  testWith('prometheus')('metrics that pass the linter of Prometheus', async () => {
    const { body } = await getAdmin(admin, '/metrics');
    const checked = promisify(execFile)('promtool', ['check', 'metrics']);
    checked.child.stdin?.end(body);
    // It fails and prints the reason if a name is invalid or a line cannot be parsed.
    expect(await checked).toEqual({ stdout: '', stderr: '' });
  });
});
