import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { createTestDatabase } from '../support/database.ts';
import { becomeLaterVersion, UPGRADE } from '../support/schema/later-version.ts';

test('a migration fails without blocking readers if another transaction locks a table for over two seconds', async () => {
  await using made = await createTestDatabase();
  using _later = becomeLaterVersion();
  const { database } = made;
  const reading = await database.kysely.startTransaction().execute();
  await sql`select id from catalog.contracts`.execute(reading);
  await expect(migrate(database, Date.now)).rejects.toMatchObject({ code: '55P03' });
  await reading.rollback().execute();
  // The first step, of `access`, has its own transaction.
  expect(await migrate(database, Date.now)).toEqual(UPGRADE.slice(1));
});
