import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { makeRoles } from '../../src/database/postgres/roles.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { startServing } from '../support/serving-process.ts';
import { PARTNERS, startModelledService } from './modelled-service.ts';
import { ResponseCheck } from './response-check.ts';

const REQUESTS_PER_PARTNER = 60;

const suffix = randomBytes(6).toString('hex');
const roles = { reader: `reader_${suffix}`, writer: `writer_${suffix}` };

const started = forAllTests(() => startModelledService(1), 120_000);
// After the service has ended.
afterAll(async () => {
  for (const role of Object.values(roles)) {
    await sql`drop owned by ${sql.id(role)}`.execute(started.service.database.kysely);
    await sql`drop role ${sql.id(role)}`.execute(started.service.database.kysely);
  }
});
const serving = forAllTests(async () => {
  const { database, databaseConfig } = started.service;
  await makeRoles(database, Date.now, roles);
  if (databaseConfig.engine !== 'postgres') throw new Error('this is a test of PostgreSQL');
  const url = new URL(databaseConfig.url);
  url.username = roles.reader;
  return startServing({ engine: 'postgres', url: url.href }, { PDS_LOG_LEVEL: 'info' });
}, 120_000);
const client = forAllTests(() => serving.client());

test.each(PARTNERS)(
  'with the reader role, every response for the partner "$name" equals plain filters over all records',
  async ({ name }) => {
    const responses = new ResponseCheck(started.model, client.get, () => new Date().toISOString());
    const events = started.service.published.map(({ publishedAt }) => publishedAt);
    await responses.check(started.service.partner(name), events, 20_260_416, REQUESTS_PER_PARTNER);
  },
  120_000,
);

test('with the reader role, pds serve writes usage and logs no other warning', async () => {
  serving.kill('SIGTERM');
  expect(await serving.exited).toEqual([0, null]);
  await serving.closed;
  const usage = await started.service.database.kysely.selectFrom('access.usage').selectAll().execute();
  const requests = usage.reduce((sum, row) => sum + row.requests, 0);
  expect(requests).toBeGreaterThan(PARTNERS.length * REQUESTS_PER_PARTNER);
  const levels = serving
    .output()
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { level: number }).level);
  expect(Math.max(...levels)).toBe(30);
});
