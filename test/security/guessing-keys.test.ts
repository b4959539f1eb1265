import { expect, test } from 'vitest';
import { composeKey, digestOf, issueKeyText } from '../../src/access/keys.ts';
import { FAILURES_PER_MINUTE } from '../../src/rate-limiting/request-limits.ts';
import { createTestApp } from '../http/test-app.ts';
import { forEachTest } from '../support/lifetimes.ts';

const service = forEachTest(createTestApp);

async function send(key: string, remoteAddress = '192.0.2.1'): Promise<{ status: number; body: string }> {
  const { statusCode, payload } = await service.app.inject({
    url: '/v1/coops',
    headers: { authorization: `Bearer ${key}` },
    remoteAddress,
  });
  return { status: statusCode, body: payload.replace(/"request_id":"[^"]*"/, '') };
}

test('a key with a wrong checksum is rejected without reading the database', async () => {
  const { database } = service;
  const wrong = `${service.key.slice(0, -1)}${service.key.endsWith('0') ? '1' : '0'}`;
  // Without the table a lookup fails with 500, so a 401 shows that there was none.
  await database.kysely.schema.withSchema('access').alterTable('keys').renameTo('keys_away').execute();
  try {
    expect((await send(wrong)).status).toBe(401);
    expect((await send('pds_test_'.padEnd(61, 'x'))).status).toBe(401);
    expect((await send(issueKeyText('live').key)).status).toBe(401);
    expect((await send(issueKeyText('test').key)).status).toBe(500);
  } finally {
    await database.kysely.schema.withSchema('access').alterTable('keys_away').renameTo('keys').execute();
  }
  expect((await send(service.key)).status).toBe(200);
});

test('the public id and the digest of a key are of no use to an attacker', async () => {
  const id = service.key.split('_')[2] ?? '';
  const { digest } = await service.database.kysely
    .selectFrom('access.keys')
    .select('digest')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  expect(digest).toBe(digestOf(service.key));
  const responses = [];
  for (const guess of [
    id,
    digest,
    `pds_test_${id}_${digest}`,
    `pds_test_${id}_${digest.slice(0, 44)}`,
    composeKey('test', id, 'x'.repeat(38)),
  ]) {
    responses.push(await send(guess));
  }
  // One identical response, which does not reveal how close a guess was.
  expect(new Set(responses.map(({ status, body }) => `${status} ${body}`)).size).toBe(1);
  expect(responses[0]?.status).toBe(401);
});

test('guesses from one address get 429 after the first sixty, whatever their format', async () => {
  for (let index = 0; index < FAILURES_PER_MINUTE; index += 1) {
    expect((await send(index % 2 === 0 ? 'nothing' : issueKeyText('test').key)).status).toBe(401);
  }
  for (const guess of ['nothing', issueKeyText('test').key, issueKeyText('live').key]) {
    expect((await send(guess)).status).toBe(429);
    expect((await send(guess, '::ffff:192.0.2.1')).status).toBe(429);
  }
  expect((await send(service.key)).status).toBe(200);
});
