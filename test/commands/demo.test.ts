import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DEMO_KEY } from '../../src/access/keys.ts';
import { dataOf, nextCursorOf, type HttpResponse } from '../support/client.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

const made = forEachTest(createEmptyDatabase);
const opened = forEachTest(() => new AsyncDisposableStack());

const startDemo = (): Serving => opened.use(startServing(made.config, {}, '--demo'));

async function get(demo: Serving, path: string): Promise<HttpResponse> {
  return (await demo.client()).get(path, { key: DEMO_KEY });
}

test("the first start on an empty database serves the README's request with real contracts", async () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const [, key, path] = /curl -H 'Authorization: Bearer (\S+)' 'http:\/\/127\.0\.0\.1:8080(\/\S+)'/.exec(readme) ?? [];
  expect(key).toBe(DEMO_KEY);
  const response = await get(startDemo(), path ?? '');
  expect(response.status).toBe(200);
  const [printed] = (JSON.parse(/```json\n([^`]+)```/.exec(readme)?.[1] ?? '') as { data: object[] }).data;
  const served = dataOf(response);
  // Everything except the time at which that database was filled.
  expect(served).toEqual([{ ...printed, updated_at: served[0]?.['updated_at'] }]);
});

test('the demo data fills every field of the API, with open and closed solicitations', async () => {
  const demo = startDemo();
  const invented = dataOf(await get(demo, '/v1/solicitations?lead_entity=le_example_city'));
  expect(invented).toHaveLength(24);
  expect(new Set(invented.map(({ is_open }) => is_open))).toEqual(new Set([true, false]));
  expect(new Set(invented.map(({ status }) => status))).toEqual(new Set(['open', 'closed', 'awarded', 'cancelled']));
  const detail = await get(demo, '/v1/solicitations/900001');
  const fields = Object.entries(JSON.parse(detail.body) as Record<string, unknown>);
  expect(fields).toHaveLength(21);
  for (const [name, value] of fields) expect(value, name).not.toEqual(Array.isArray(value) ? [] : null);
});

test('a cursor survives a restart, and a second start adds nothing', async () => {
  const first = startDemo();
  const page = await get(first, '/v1/contracts?limit=3');
  first.kill('SIGTERM');
  await first.exited;
  const second = startDemo();
  const next = await get(second, `/v1/contracts?limit=2&cursor=${nextCursorOf(page)}`);
  expect(next.status).toBe(200);
  expect(dataOf(page, next)).toEqual(dataOf(await get(second, '/v1/contracts?limit=5')));
  expect(await made.database.kysely.selectFrom('catalog.releases').selectAll().execute()).toHaveLength(1);
});

test('two simultaneous first starts converge', async () => {
  const [one, two] = [startDemo(), startDemo()];
  await Promise.all([one.port(), two.port()]);
  const { status, body } = await get(one, '/v1/contracts?limit=5');
  expect(await get(two, '/v1/contracts?limit=5')).toMatchObject({ status, body });
  expect(await made.database.kysely.selectFrom('catalog.releases').selectAll().execute()).toHaveLength(1);
});
