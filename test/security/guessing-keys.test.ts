import { afterEach, beforeEach, expect, test } from 'vitest';
import { composeKey, digestOf, issueKeyText } from '../../src/access/keys.ts';
import { FAILURES_PER_MINUTE } from '../../src/http/request-counts.ts';
import { createTestApp, type TestApp } from '../http/test-app.ts';

let service: TestApp;

beforeEach(async () => {
  service = await createTestApp();
});
afterEach(() => service.close());

async function ask(key: string, remoteAddress = '192.0.2.1'): Promise<{ status: number; body: string }> {
  const { statusCode, payload } = await service.app.inject({
    url: '/v1/coops',
    headers: { authorization: `Bearer ${key}` },
    remoteAddress,
  });
  return { status: statusCode, body: payload.replace(/"request_id":"[^"]*"/, '') };
}

test('a key whose checksum is wrong is refused without a look into the database, which one that is right gets', async () => {
  const { database } = service;
  const wrong = `${service.key.slice(0, -1)}${service.key.endsWith('0') ? '1' : '0'}`;
  // Without the table a lookup fails with 500, so a 401 shows that there was none.
  await database.kysely.schema.withSchema('access').alterTable('keys').renameTo('keys_away').execute();
  try {
    expect((await ask(wrong)).status).toBe(401);
    expect((await ask('pds_test_'.padEnd(61, 'x'))).status).toBe(401);
    expect((await ask(issueKeyText('live').key)).status).toBe(401);
    expect((await ask(issueKeyText('test').key)).status).toBe(500);
  } finally {
    await database.kysely.schema.withSchema('access').alterTable('keys_away').renameTo('keys').execute();
  }
  expect((await ask(service.key)).status).toBe(200);
});

test('whoever knows the public id of a key, and all of its digest, has nothing', async () => {
  const id = service.key.split('_')[2] ?? '';
  const { digest } = await service.database.kysely
    .selectFrom('access.keys')
    .select('digest')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  expect(digest).toBe(digestOf(service.key));
  const answers = [];
  for (const guess of [
    id,
    digest,
    `pds_test_${id}_${digest}`,
    `pds_test_${id}_${digest.slice(0, 44)}`,
    composeKey('test', id, 'x'.repeat(38)),
  ]) {
    answers.push(await ask(guess));
  }
  // One identical response, which does not reveal how close a guess was.
  expect(new Set(answers.map(({ status, body }) => `${status} ${body}`)).size).toBe(1);
  expect(answers[0]?.status).toBe(401);
});

test('guesses from one address are answered with 429 after the first sixty, whichever form they have', async () => {
  for (let index = 0; index < FAILURES_PER_MINUTE; index += 1) {
    expect((await ask(index % 2 === 0 ? 'nothing' : issueKeyText('test').key)).status).toBe(401);
  }
  for (const guess of ['nothing', issueKeyText('test').key, issueKeyText('live').key]) {
    expect((await ask(guess)).status).toBe(429);
    expect((await ask(guess, '::ffff:192.0.2.1')).status).toBe(429);
  }
  expect((await ask(service.key)).status).toBe(200);
});
