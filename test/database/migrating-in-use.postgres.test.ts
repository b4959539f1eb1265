import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openForCommands } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { MIGRATIONS } from '../../src/database/migrations/migrations.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { interrupted, Interruption } from '../support/process/interruption.ts';
import { insertOlderPublication, insertOlderSuppliers, makeOlderSchema } from '../support/schema/older-schema.ts';

const BEFORE = { catalog: MIGRATIONS.catalog.length, access: 2 };
const clock = (): number => Date.parse('2026-05-01T00:00:00.000Z');

let made: TestDatabase;

beforeEach(async () => {
  made = await createEmptyDatabase();
  await makeOlderSchema(made.database, BEFORE);
});

afterEach(() => made.drop());

test('a migration fails without blocking readers if another transaction locks a table for over two seconds', async () => {
  const { database } = made;
  const reading = await database.kysely.startTransaction().execute();
  await sql`select version from access.clock`.execute(reading);
  await expect(migrate(database, clock)).rejects.toMatchObject({ code: '55P03' });
  await reading.rollback().execute();
  expect(await migrate(database, clock)).toHaveLength(MIGRATIONS.access.length - BEFORE.access);
});

test('readers are not blocked while the index is filled', async () => {
  const older = await createEmptyDatabase();
  const observer = openForCommands(older.config);
  try {
    await makeOlderSchema(older.database, { catalog: 3, access: MIGRATIONS.access.length });
    await insertOlderSuppliers(older.database, ['a', 'b']);
    await insertOlderPublication(older.database);
    let isFilling = false;
    let looked = 0;
    const locked: unknown[] = [];
    const look = async (): Promise<void> => {
      if (!isFilling) return;
      const { rows } = await sql`select relation::regclass::text from pg_locks where mode = 'AccessExclusiveLock'
        and relation is not null and database = (select oid from pg_database where datname = current_database())`.execute(
        observer.kysely,
      );
      looked += 1;
      locked.push(...rows);
    };
    const watched = interrupted(older.database, new Interruption(() => undefined, look));
    await migrate(watched, clock, { onProgress: () => (isFilling = true) });
    expect(looked).toBeGreaterThan(0);
    expect(locked).toEqual([]);
  } finally {
    await observer.close();
    await older.drop();
  }
});

test('roles with privileges on grants get the same on the table that a migration adds', async () => {
  const { kysely } = made.database;
  const suffix = randomBytes(6).toString('hex');
  const [reader, writer] = [`Reader ${suffix}`, `writer_${suffix}`];
  for (const [role, privileges] of [
    [reader, 'select'],
    [writer, 'select, insert'],
  ] as const) {
    await sql`create role ${sql.id(role)}`.execute(kysely);
    await sql`grant ${sql.raw(privileges)} on access.grants to ${sql.id(role)}`.execute(kysely);
  }
  try {
    await migrate(made.database, clock);
    const { rows } = await sql`select role, has_table_privilege(role, 'access.grant_changes', 'select') as reads,
      has_table_privilege(role, 'access.grant_changes', 'insert') as adds
      from (values (${reader}::text), (${writer}::text)) as roles (role)`.execute(kysely);
    expect(rows).toEqual([
      { role: reader, reads: true, adds: false },
      { role: writer, reads: true, adds: true },
    ]);
  } finally {
    for (const role of [reader, writer]) {
      await sql`drop owned by ${sql.id(role)}`.execute(kysely);
      await sql`drop role ${sql.id(role)}`.execute(kysely);
    }
  }
});
