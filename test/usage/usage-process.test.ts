import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { createPartner, setPartner } from '../../src/access/partner-admin.ts';
import { createClient } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServing, type Serving } from '../support/serving-process.ts';
import { writtenUsage } from './recording.ts';

/** How much usage a killed server can lose. */
const LOST_MS = 10_000;

let made: TestDatabase;
let key: string;
let serving: Serving;
let started: Serving[];

beforeEach(async () => {
  started = [];
  made = await createTestDatabase();
  await publishLines(made.database, SMALL_CATALOG);
  await createPartner(made.database, Date.now, 'acme', { everything: true });
  ({ key } = await issueKey(made.database, Date.now, 'acme', { environment: 'test', lifetimeMs: null }));
});
afterEach(async () => {
  for (const one of started) one.kill('SIGKILL');
  await Promise.all(started.map(({ closed }) => closed));
  await made.drop();
});

/** Starts a service, which `serving` then is. */
async function serve() {
  serving = startServing(made.config, { PDS_LOG_LEVEL: 'info' });
  started.push(serving);
  return createClient(`http://127.0.0.1:${await serving.port()}`);
}

async function total(): Promise<number> {
  return (await writtenUsage(made.database)).reduce((sum, { requests }) => sum + requests, 0);
}

test('a killed server loses at most the counts of its last ten seconds', async () => {
  const client = await serve();
  const answeredAtMs: number[] = [];
  const untilMs = performance.now() + LOST_MS + 3_000;
  while (performance.now() < untilMs) {
    expect((await client.get('/v1/coops', { key })).status).toBe(200);
    answeredAtMs.push(performance.now());
    await delay(20);
  }
  serving.kill('SIGKILL');
  const killedAtMs = performance.now();
  await serving.closed;
  client.close();
  const counted = await total();
  const certain = answeredAtMs.filter((atMs) => atMs < killedAtMs - LOST_MS).length;
  expect(certain).toBeGreaterThan(0);
  expect(counted).toBeGreaterThanOrEqual(certain);
  expect(counted).toBeLessThanOrEqual(answeredAtMs.length);
}, 60_000);

test('a server that shuts down loses no counts by key, endpoint and outcome', async () => {
  const second = await issueKey(made.database, Date.now, 'acme', { environment: 'test', lifetimeMs: null });
  await createPartner(made.database, Date.now, 'limited', { everything: true });
  await setPartner(made.database, Date.now, 'limited', { requestsPerMinute: 2 });
  const limited = await issueKey(made.database, Date.now, 'limited', { environment: 'test', lifetimeMs: null });
  const client = await serve();
  const ask = async (path: string, usedKey: string | undefined, times: number): Promise<void> => {
    const options = usedKey === undefined ? {} : { key: usedKey };
    for (let time = 0; time < times; time += 1) await client.get(path, options);
  };
  // The framework serves the first, the cache the others.
  await ask('/v1/contracts', key, 4);
  const { headers } = await client.get('/v1/contracts', { key });
  const unchanged = { key, headers: { 'if-none-match': headers.etag ?? '' } };
  expect((await client.get('/v1/contracts', unchanged)).status).toBe(304);
  await ask('/v1/contracts/ctr_1', second.key, 2);
  await ask('/v1/contracts/ctr_9', second.key, 1);
  await ask('/v1/nothing?really=1', key, 3);
  await ask('/v1/suppliers', limited.key, 5);
  // Not attributed to any partner.
  await ask('/v1/suppliers', undefined, 3);
  await ask('/v1/suppliers', `${key}x`, 3);
  await ask('/health', key, 3);
  serving.kill('SIGTERM');
  expect(await serving.exited).toEqual([0, null]);
  client.close();
  const rows = (await writtenUsage(made.database)).map(({ key_id: keyId, endpoint, requests, ...row }) => [
    ...[keyId, endpoint, requests, row.records, row.limited, row.failed],
  ]);
  const expected = [
    [key.slice(9, 17), '/v1/contracts', 6, 10, 0, 0],
    [key.slice(9, 17), 'unknown', 3, 0, 0, 0],
    [second.details.id, '/v1/contracts/:id', 3, 2, 0, 0],
    [limited.details.id, '/v1/suppliers', 5, 4, 3, 0],
  ];
  expect(rows.map(String).toSorted()).toEqual(expected.map(String).toSorted());
});
