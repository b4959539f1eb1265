import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openForCommands } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { databaseUrlOf } from '../commands/run-pds.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { interrupted, Interruption } from '../support/process/interruption.ts';
import { SMALL_CATALOG } from '../support/publishing.ts';
import { importBefore, makeOlderSchema, UNFINISHED } from '../support/schema/older-schema.ts';

const clock = (): number => Date.parse('2026-05-01T00:00:00.000Z');

let made: TestDatabase;

beforeEach(async () => {
  made = await createEmptyDatabase();
  await makeOlderSchema(made.database, UNFINISHED);
});

afterEach(() => made.drop());

test('a migration fails without blocking readers if another transaction locks a table for over two seconds', async () => {
  const { database } = made;
  const reading = await database.kysely.startTransaction().execute();
  await sql`select id from catalog.contracts`.execute(reading);
  await expect(migrate(database, clock)).rejects.toMatchObject({ code: '55P03' });
  await reading.rollback().execute();
  expect(await migrate(database, clock)).toHaveLength(2);
});

test('readers are not blocked while indexes are built', async () => {
  await importBefore(databaseUrlOf(made.config), SMALL_CATALOG);
  const observer = openForCommands(made.config);
  try {
    const built = new Set<string>();
    let isBlocked = false;
    const look = async (): Promise<void> => {
      const { rows } = await sql<{ relation: string; mode: string }>`select relation::regclass::text as relation, mode
        from pg_locks where relation is not null and locktype = 'relation' and pid <> pg_backend_pid()
          and database = (select oid from pg_database where datname = current_database())`.execute(observer.kysely);
      const recordLocks = rows.filter(({ relation }) =>
        /^catalog\.(contracts|suppliers|solicitations)(_index)?$/.test(relation),
      );
      if (recordLocks.some(({ mode }) => mode === 'AccessExclusiveLock')) isBlocked = true;
      else for (const { relation, mode } of recordLocks) if (mode === 'ShareLock' && !isBlocked) built.add(relation);
    };
    await migrate(interrupted(made.database, new Interruption(() => undefined, look)), clock);
    expect([...built].sort()).toEqual(['catalog.contracts', 'catalog.solicitations', 'catalog.suppliers']);
    expect(isBlocked).toBe(true);
  } finally {
    await observer.close();
  }
});
