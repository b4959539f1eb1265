import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { suspendPartner } from '../../src/access/partner-admin.ts';
import { inTransaction } from '../../src/database/database.ts';
import { lockLog } from '../../src/database/event-log.ts';
import { databaseForAllTests } from '../support/database.ts';
import { makePartner } from '../support/partners.ts';

const made = databaseForAllTests();

// On SQLite, transactions that write wait for each other anyway.
test('an event waits for the one before it to be committed', async () => {
  const { database } = made;
  await makePartner(database, Date.now, { name: 'p' });
  let later: Promise<unknown> = Promise.resolve();
  await inTransaction(database, async (transaction) => {
    await lockLog(transaction, Date.now);
    later = suspendPartner(database, Date.now, 'p');
    // By this connection: the commands of a test have two.
    const waiting = sql`select from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`;
    await expect.poll(async () => (await waiting.execute(transaction.kysely)).rows).toHaveLength(1);
  });
  await later;
});
