import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { inTransaction } from '../../src/database/database.ts';
import { appendEvent, lockLog, pruneLog } from '../../src/database/event-log.ts';
import { databaseForAllTests } from '../support/database.ts';
import { makePartner } from '../support/partners.ts';

const made = databaseForAllTests();

test('of old events, the last reset and the last changes of a scope stay', async () => {
  const { database } = made;
  let nowMs = Date.parse('2026-06-01T12:00:00.000Z');
  const clock = (): number => (nowMs += 10_000);
  await makePartner(database, clock, { name: 'p' });
  const { id: partnerId } = await database.kysely.selectFrom('access.partners').select('id').executeTakeFirstOrThrow();
  const names = new Map<string, string>();
  const append = (name: string, event: Parameters<typeof appendEvent>[2]): Promise<void> =>
    inTransaction(database, async (transaction) => {
      const at = await lockLog(transaction, clock);
      await appendEvent(transaction, at, event);
      names.set(at, name);
    });
  const release = (what: 'release' | 'reset', number: number) => ({ what, number, file: null, made_from: null });
  await append('first reset', release('reset', 1));
  await append('last reset', release('reset', 2));
  await append('narrows first', { what: 'scope', partnerId, narrows: 'change of kinds' });
  await append('narrows last', { what: 'scope', partnerId, narrows: 'change of kinds' });
  await append('widens first', { what: 'scope', partnerId, narrows: null });
  await append('widens last', { what: 'scope', partnerId, narrows: null });
  await append('key', { what: 'key', partnerId });
  await append('old release', release('release', 3));
  const before = new Date(clock()).toISOString();
  await append('new release', release('release', 4));
  expect(await pruneLog(database, before, 1)).toBe(3);
  const { rows } = await sql<{ at: string }>`select at from access.events order by at`.execute(database.kysely);
  expect(rows.map(({ at }) => names.get(at))).toEqual([
    ...['last reset', 'narrows last', 'widens last', 'old release', 'new release'],
  ]);
});
