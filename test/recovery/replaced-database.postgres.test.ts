import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { databaseUrlOf, MAIN } from '../commands/run-pds.ts';
import type { Client } from '../support/client.ts';
import { databaseForEachTest, onServer } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { makePartner } from '../support/partners.ts';
import { databaseUrl } from '../support/postgres.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServingOf } from '../support/serving-process.ts';
import { startTcpProxy } from '../support/network/tcp-proxy.ts';
import { change, makeLostChanges, makeOtherChanges } from './lost-changes.ts';

/** A database on this run's server, reached directly and through the proxy. */
let name: string;
let key: string;
let revokedKey: string;

/** The URL of another database on the same server. */
const urlOf = (database: string): string => databaseUrl(databaseUrlOf(made.config), database);

const made = databaseForEachTest();
const proxy = forEachTest(() => startTcpProxy({ port: Number(new URL(databaseUrlOf(made.config)).port) }));
beforeEach(async () => {
  name = new URL(databaseUrlOf(made.config)).pathname.slice(1);
  await publishLines(made.database, SMALL_CATALOG);
  ({ key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true }));
  ({ key: revokedKey } = await issueKey(made.database, Date.now, 'acme', { environment: 'test', lifetimeMs: null }));
  await made.database.close();
  await onServer(`create database ${name}_other template ${name}`);
});
afterEach(async () => {
  for (const database of ['lost', 'other', 'replica'])
    await onServer(`drop database if exists ${name}_${database} with (force)`);
});
const opened = forEachTest(() => new AsyncDisposableStack());

function serve(replicaUrl: string): Promise<Client> {
  const { href: url } = Object.assign(new URL(urlOf(name)), { port: String(proxy.port) });
  const settings = { PDS_DATABASE_URL: url, PDS_REPLICA_URL: replicaUrl, PDS_ADMIN_PORT: '0' };
  return opened.use(startServingOf(MAIN, settings)).client();
}

/** Replaces the served database by the other one, with no connection open. */
async function replace(): Promise<void> {
  proxy.cut();
  await onServer(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname in ('${name}', '${name}_other')`,
  );
  await onServer(`alter database ${name} rename to ${name}_lost`);
  await onServer(`alter database ${name}_other rename to ${name}`);
  proxy.thaw();
}

test.each([
  ['an earlier', 0],
  ['a later', 60_000],
])('a replica with %s last event than the database that replaced its primary is not read from', async (_, laterMs) => {
  await change(urlOf(name), (database) => makeLostChanges(database, () => Date.now() + laterMs));
  await change(urlOf(`${name}_other`), (database) => makeOtherChanges(database, revokedKey, Date.now));
  // To the service this is a replica that has received everything so far, and then stops receiving.
  await onServer(`create database ${name}_replica template ${name}`);
  const { get } = await serve(urlOf(`${name}_replica`));
  for (let limit = 1; limit <= 5; limit += 1) {
    expect((await get(`/v1/contracts?limit=${limit}`, { key })).body).toContain('Lost release');
  }

  await replace();
  let limit = 10;
  const replacedAtMs = performance.now();
  while (!(await get(`/v1/contracts?limit=${(limit += 1)}`, { key })).body.includes('Other release')) {
    expect(performance.now() - replacedAtMs, 'the replica is read from').toBeLessThan(4_000);
    await sleep(50);
  }
  while ((limit += 1) <= 100) {
    expect((await get(`/v1/contracts?limit=${limit}`, { key })).body).toContain('Other release');
  }
  // Nor while the replacement is down.
  proxy.cut();
  limit = 0;
  while ((await get(`/v1/suppliers?limit=${(limit += 1)}`, { key })).status === 200) await sleep(50);
  for (const path of ['/v1/coops', '/v1/lead-entities', '/v1/city-services']) {
    expect((await get(path, { key })).status).toBe(500);
  }
});

test('a replica ahead of the last known revision serves reads while the primary is down', async () => {
  await onServer(`create database ${name}_replica template ${name}`);
  const { get } = await serve(urlOf(`${name}_replica`));
  expect((await get('/v1/contracts', { key })).status).toBe(200);
  proxy.cut();
  // The primary's last change, which the service could no longer see.
  await change(urlOf(`${name}_replica`), (database) => makeLostChanges(database, Date.now));
  const cutAtMs = performance.now();
  let limit = 0;
  while (!(await get(`/v1/contracts?limit=${(limit += 1)}`, { key })).body.includes('Lost release')) {
    expect(performance.now() - cutAtMs, 'the replica is not read from').toBeLessThan(4_000);
    await sleep(50);
  }
});
