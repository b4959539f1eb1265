import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { callPds } from '../commands/call-pds.ts';
import { databaseUrlOf } from '../commands/run-pds.ts';
import { databaseForAllTests } from '../support/database.ts';
import { getAdmin } from '../support/process/administrator.ts';
import { changeStored } from '../support/stored-catalog.ts';
import type { Client } from '../support/client.ts';
import { newFolder } from '../support/new-folder.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

/*
 * No material that an operator collects after a failure may contain a key or a password from a URL: logs, metrics,
 * crash reports, heap snapshots, process lists.
 */

const DATABASE_PASSWORD = 'hunter2-of-the-database';
const REDIS_PASSWORD = 'hunter2-of-redis';

/** Another service's key, sent by mistake. */
const FOREIGN_KEY = `pds_test_a1b2c3d4_${'F0reignSecret'.repeat(4).slice(0, 44)}`;

const folder = newFolder();
let settings: Record<string, string>;
/** Everything collected, by source. */
let seen: Map<string, string>;
let key: string;

const made = databaseForAllTests();
beforeAll(async () => {
  await publishLines(made.database, SMALL_CATALOG);
  settings = {
    PDS_DATABASE_URL: withPassword(databaseUrlOf(made.config)),
    PDS_REDIS_URL: `redis://user:${REDIS_PASSWORD}@127.0.0.1:1`,
  };
  await callPds(['partner', 'create', 'acme', '--everything'], settings);
});
beforeEach(async () => {
  key = (await callPds(['key', 'issue', 'acme'], settings)).stdout.trim();
  seen = new Map();
});
afterEach(() => {
  expect(seen.size).toBeGreaterThan(3);
  for (const [source, text] of seen) {
    for (const secret of [secretOf(key), secretOf(FOREIGN_KEY), DATABASE_PASSWORD, REDIS_PASSWORD]) {
      expect(excerptAround(text, secret), source).toBe('');
    }
  }
});

/** The test's server accepts any password. */
function withPassword(address: string): string {
  if (address.startsWith('sqlite:')) return address;
  const url = new URL(address);
  url.password = DATABASE_PASSWORD;
  return url.href;
}

/** The beginning, because messages quote only the beginning of what a client sent. */
function secretOf(text: string): string {
  return text.slice('pds_test_'.length + 9).slice(0, 12);
}

function excerptAround(text: string, secret: string): string {
  const index = text.indexOf(secret);
  return index === -1 ? '' : text.slice(Math.max(0, index - 200), index + 20);
}

/** Waits for a complete file that Node writes on a signal. */
async function fileWritten(ending: string): Promise<string> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    const names = readdirSync(folder).filter((name) => name.endsWith(ending));
    const texts = names.map((name) => readFileSync(join(folder, name), 'utf8'));
    const complete = texts.find((text) => text.trimEnd().endsWith('}'));
    if (complete !== undefined) return complete;
    await delay(100);
  }
  throw new Error(`no ${ending} was written`);
}

test('commands print no key except the one they issue, and no password, whether they succeed or fail', async () => {
  const keyId = key.slice('pds_test_'.length, 'pds_test_'.length + 8);
  const unreachable = { ...settings, PDS_DATABASE_URL: `postgres://pds:${DATABASE_PASSWORD}@127.0.0.1:1/pds` };
  const nowhere = { ...settings, PDS_DATABASE_URL: `postgres://pds:${DATABASE_PASSWORD}@nowhere.invalid/pds` };
  const broken = { ...settings, PDS_DATABASE_URL: `mysql://pds:${DATABASE_PASSWORD}@127.0.0.1/pds` };
  const noRedis = { ...settings, PDS_REDIS_URL: `rediss:/${REDIS_PASSWORD}` };
  const misspelt = { ...settings, PDS_DATABSE_URL: `postgres://pds:${DATABASE_PASSWORD}@127.0.0.1/pds` };
  const loud = { ...settings, PDS_LOG_LEVEL: 'trace' };
  // Each with --json and without.
  const withKeys = (words: string): string[] =>
    [FOREIGN_KEY, key, key, FOREIGN_KEY].map((given) => `${words} ${given}`.trim());
  const runs: [string, Record<string, string>][] = [
    ...[
      'key list',
      'key list acme',
      'partner show acme',
      'partner list',
      'audit',
      'usage',
      'migrate',
      '--help',
      'key --help',
    ],
    ...['key revoke', 'key revoke acme', 'key rotate', 'key issue', 'partner show'].flatMap(withKeys),
    ...['partner create', 'import', 'key', '--key', ''].flatMap(withKeys),
    `key revoke ${keyId}`,
  ].map((line) => [line, settings]);
  for (const bad of [unreachable, nowhere, broken, noRedis, misspelt]) runs.push(['partner list', bad], ['serve', bad]);
  runs.push(['partner show nobody', loud], ['partner list', { ...unreachable, PDS_LOG_LEVEL: 'trace' }]);
  for (const [index, [line, environment]] of runs.entries()) {
    const args = index % 2 === 0 ? line.split(' ') : [...line.split(' '), '--json'];
    const { code, stdout, stderr } = await callPds(args, environment);
    if (args.includes(key) || args.includes(FOREIGN_KEY)) expect(code, line).toBeGreaterThan(0);
    expect(stdout + stderr, line).not.toBe('');
    // Its beginning is searched for after the test.
    expect(stdout + stderr, line).not.toContain(key.slice(-30));
    seen.set(`${index}: ${line}`, stdout + stderr);
  }
}, 180_000);

test('logs, metrics, crash reports, command lines and memory of a server contain no key', async () => {
  const boom = join(folder, 'boom.mjs');
  writeFileSync(boom, "process.on('SIGWINCH', () => { throw new Error('boom'); });");
  await using serving = startServing(made.config, {
    ...settings,
    PDS_LOG_LEVEL: 'trace',
    NODE_OPTIONS: [
      ...['--report-on-signal', '--report-signal=SIGIO', '--report-on-fatalerror'],
      ...[`--report-directory=${folder}`, '--heapsnapshot-signal=SIGURG', `--diagnostic-dir=${folder}`],
      `--import=${pathToFileURL(boom).href}`,
    ].join(' '),
  });
  await sendEveryKind(await serving.client());
  seen.set('metrics', (await getAdmin(await serving.adminPort(), '/metrics')).body);
  await collectFrom(serving);
  serving.kill('SIGTERM');
  await serving.closed;
  expect(serving.output()).toContain('boom');
  seen.set('log', serving.output());
}, 180_000);

/** Valid and invalid requests, requests with keys in all the wrong places, and an internal error. */
async function sendEveryKind(client: Client): Promise<void> {
  for (let time = 0; time < 10; time += 1) {
    for (const path of ['/v1/contracts', '/v1/coops', '/v1/contracts?q=road', `/v1/contracts?key=${FOREIGN_KEY}`]) {
      await client.get(path, { key });
    }
  }
  for (const path of [
    `/v1/${FOREIGN_KEY}`,
    `/${FOREIGN_KEY}`,
    `/%ZZ${FOREIGN_KEY}`,
    `/v1/coops?cursor=${FOREIGN_KEY}`,
    `/v1/coops?${FOREIGN_KEY}=1`,
    `/v1/coops?${FOREIGN_KEY.slice(9)}=%ZZ`,
    `/v1/coops?${key}=1`,
  ]) {
    await client.get(path, { key: FOREIGN_KEY, headers: { 'x-request-id': FOREIGN_KEY, 'user-agent': FOREIGN_KEY } });
    await client.get(path, { key });
  }
  const rename = (from: string, to: string) =>
    changeStored(made.database, ({ kysely }) => sql.raw(`alter table catalog.${from} rename to ${to}`).execute(kysely));
  await rename('coops', 'coops_away');
  try {
    expect((await client.get('/v1/coops?limit=7', { key })).status).toBe(500);
  } finally {
    await rename('coops_away', 'coops');
  }
}

/** Collects the command line, a heap snapshot, a report, and a crash by an uncaught error. */
async function collectFrom(serving: Serving): Promise<void> {
  seen.set('command line', readFileSync(`/proc/${serving.pid}/cmdline`, 'utf8'));
  serving.kill('SIGURG');
  const snapshot = await fileWritten('.heapsnapshot');
  // It contains the partner, and would contain the key.
  expect(snapshot).toContain('"acme"');
  // The passwords must stay in memory, to reconnect.
  seen.set('memory', snapshot.replaceAll(DATABASE_PASSWORD, '').replaceAll(REDIS_PASSWORD, ''));
  serving.kill('SIGIO');
  seen.set('report', await fileWritten('.json'));
  serving.kill('SIGWINCH');
  await serving.said('boom');
}
