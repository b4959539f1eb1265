import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DEMO_KEY } from '../../src/access/keys.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

let started: Serving[];

const made = forEachTest(createEmptyDatabase);
beforeEach(() => {
  started = [];
});
afterEach(() => {
  for (const serving of started) serving.kill('SIGKILL');
});

async function startDemo(): Promise<number> {
  const serving = startServing(made.config, {}, '--demo');
  started.push(serving);
  return serving.port();
}

interface Page {
  data: Record<string, unknown>[];
  meta: { next_cursor: string | null };
}

async function ask(port: number, path: string): Promise<{ status: number; body: Page }> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { Authorization: `Bearer ${DEMO_KEY}` } });
  return { status: answer.status, body: (await answer.json()) as Page };
}

test("the first start on an empty database serves the README's request with real contracts", async () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const [, key, path] = /curl -H 'Authorization: Bearer (\S+)' 'http:\/\/127\.0\.0\.1:8080(\/\S+)'/.exec(readme) ?? [];
  expect(key).toBe(DEMO_KEY);
  const { status, body } = await ask(await startDemo(), path ?? '');
  expect(status).toBe(200);
  const [printed] = (JSON.parse(/```json\n([^`]+)```/.exec(readme)?.[1] ?? '') as Page).data;
  // Everything except the time at which that database was filled.
  expect(body.data).toEqual([{ ...printed, updated_at: body.data[0]?.['updated_at'] }]);
});

test('the demo data fills every field of the API, with open and closed solicitations', async () => {
  const port = await startDemo();
  const invented = (await ask(port, '/v1/solicitations?lead_entity=le_example_city')).body.data;
  expect(invented).toHaveLength(24);
  expect(new Set(invented.map(({ is_open }) => is_open))).toEqual(new Set([true, false]));
  expect(new Set(invented.map(({ status }) => status))).toEqual(new Set(['open', 'closed', 'awarded', 'cancelled']));
  const detail = await fetch(`http://127.0.0.1:${port}/v1/solicitations/900001`, {
    headers: { Authorization: `Bearer ${DEMO_KEY}` },
  });
  const fields = Object.entries((await detail.json()) as Record<string, unknown>);
  expect(fields).toHaveLength(21);
  for (const [name, value] of fields) expect(value, name).not.toEqual(Array.isArray(value) ? [] : null);
});

test('a cursor survives a restart, and a second start adds nothing', async () => {
  const firstPort = await startDemo();
  const { body: page } = await ask(firstPort, '/v1/contracts?limit=3');
  started[0]?.kill('SIGTERM');
  await started[0]?.exited;
  const secondPort = await startDemo();
  const next = await ask(secondPort, `/v1/contracts?limit=2&cursor=${page.meta.next_cursor}`);
  expect(next.status).toBe(200);
  const { body: whole } = await ask(secondPort, '/v1/contracts?limit=5');
  expect([...page.data, ...next.body.data]).toEqual(whole.data);
  expect(await made.database.kysely.selectFrom('catalog.releases').selectAll().execute()).toHaveLength(1);
});

test('two simultaneous first starts converge', async () => {
  const [one, two] = await Promise.all([startDemo(), startDemo()]);
  const path = '/v1/contracts?limit=5';
  expect(await ask(one, path)).toEqual(await ask(two, path));
  expect(await made.database.kysely.selectFrom('catalog.releases').selectAll().execute()).toHaveLength(1);
});
