import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeRoles } from '../../src/database/roles.ts';
import { questionsAbout } from '../model/questions.ts';
import { createClient, type Client } from '../support/client.ts';
import { startServing, type Serving } from '../support/serving-process.ts';
import { PARTNERS, startModelledService, type ModelledService } from './asking.ts';
import { AnswerCheck } from './checking.ts';

const QUESTIONS_OF_EACH = 60;

const suffix = randomBytes(6).toString('hex');
const roles = { reader: `reader_${suffix}`, writer: `writer_${suffix}` };

let started: ModelledService;
let serving: Serving;
let client: Client;

beforeAll(async () => {
  started = await startModelledService(1);
  const { database, databaseConfig } = started.service;
  await makeRoles(database, Date.now, roles);
  if (databaseConfig.engine !== 'postgres') throw new Error('this is a test of PostgreSQL');
  const url = new URL(databaseConfig.url);
  url.username = roles.reader;
  serving = startServing({ engine: 'postgres', url: url.href }, { PDS_LOG_LEVEL: 'info' });
  client = createClient(`http://127.0.0.1:${await serving.port()}`);
}, 120_000);
afterAll(async () => {
  client.close();
  serving.kill('SIGKILL');
  await serving.closed;
  for (const role of Object.values(roles)) {
    await sql`drop owned by ${sql.id(role)}`.execute(started.service.database.kysely);
    await sql`drop role ${sql.id(role)}`.execute(started.service.database.kysely);
  }
  await started.close();
});

test.each(PARTNERS)(
  'as the reader, pds serve answers the partner "$name" what plain filters over all records give',
  async ({ name }) => {
    const answers = new AnswerCheck(started.model, client.get, () => new Date().toISOString());
    const events = started.service.published.map(({ publishedAt }) => publishedAt);
    const asked = questionsAbout(started.model, events);
    await fc.assert(
      fc.asyncProperty(asked, (question) => answers.check(started.service.partner(name), question)),
      { seed: 20_260_416, numRuns: QUESTIONS_OF_EACH, interruptAfterTimeLimit: 50_000, markInterruptAsFailure: true },
    );
  },
  60_000,
);

test('as the reader, it writes usage, and has nothing else to complain of', async () => {
  serving.kill('SIGTERM');
  expect(await serving.exited).toEqual([0, null]);
  const usage = await started.service.database.kysely.selectFrom('access.usage').selectAll().execute();
  const requests = usage.reduce((sum, row) => sum + row.requests, 0);
  expect(requests).toBeGreaterThan(PARTNERS.length * QUESTIONS_OF_EACH);
  const levels = serving
    .output()
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { level: number }).level);
  expect(Math.max(...levels)).toBe(30);
});
