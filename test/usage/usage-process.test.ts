import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { databaseForEachTest } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServing } from '../support/serving-process.ts';
import { writtenUsage } from './recording.ts';

/** How much usage a killed server can lose. */
const LOST_MS = 10_000;

let key: string;

const made = databaseForEachTest();
beforeEach(async () => {
  await publishLines(made.database, SMALL_CATALOG);
  ({ key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true }));
});
const serving = forEachTest(() => startServing(made.config, { PDS_LOG_LEVEL: 'info' }));

test('a killed server loses at most the counts of its last ten seconds', async () => {
  const client = await serving.client();
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
  const counted = (await writtenUsage(made.database)).reduce((sum, { requests }) => sum + requests, 0);
  const certain = answeredAtMs.filter((atMs) => atMs < killedAtMs - LOST_MS).length;
  expect(certain).toBeGreaterThan(0);
  expect(counted).toBeGreaterThanOrEqual(certain);
  expect(counted).toBeLessThanOrEqual(answeredAtMs.length);
}, 60_000);

test('a server that shuts down loses no counts by key, endpoint and outcome', async () => {
  const second = await issueKey(made.database, Date.now, 'acme', { environment: 'test', lifetimeMs: null });
  const small = { name: 'limited', everything: true, requestsPerMinute: 2 };
  const limited = await makePartner(made.database, Date.now, small);
  const client = await serving.client();
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
  const rows = (await writtenUsage(made.database)).map(({ key_id: keyId, endpoint, requests, ...row }) => [
    ...[keyId, endpoint, requests, row.records, row.limited, row.failed],
  ]);
  const expected = [
    [key.slice(9, 17), '/v1/contracts', 6, 10, 0, 0],
    [key.slice(9, 17), 'unknown', 3, 0, 0, 0],
    [second.details.id, '/v1/contracts/:id', 3, 2, 0, 0],
    [limited.key.slice(9, 17), '/v1/suppliers', 5, 4, 3, 0],
  ];
  expect(rows.map(String).toSorted()).toEqual(expected.map(String).toSorted());
});
