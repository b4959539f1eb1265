import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { publishLines, SMALL_CATALOG, solicitation } from '../support/publishing.ts';

/** Several batches. */
const RECORDS = 3_000;

const records = Array.from({ length: RECORDS }, (_, index) => ({
  ...solicitation(`sol_${String(index).padStart(5, '0')}`, index + 1),
  description: 'The server still writes a batch while the next is parsed. '.repeat(20),
}));

test.each([
  { table: 'solicitations', id: records[10]?.id },
  { table: 'solicitations', id: records.at(-1)?.id },
  { table: 'contracts', id: SMALL_CATALOG.contracts[0].id },
])(
  'the error of a server that refuses $id of a first import is reported, and nothing is published',
  async ({ table, id }) => {
    await using made = await createTestDatabase();
    const { kysely } = made.database;
    await sql`create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'the server refuses this record'; end $$`.execute(kysely);
    await sql`create trigger refuse before insert on ${sql.table(`catalog.${table}`)} for each row
      when (new.id = ${sql.lit(id)}) execute function refuse()`.execute(kysely);
    const catalog = { ...SMALL_CATALOG, solicitations: records };
    await expect(publishLines(made.database, catalog)).rejects.toThrow('the server refuses this record');
    const { rows } = await sql<{ events: number; suppliers: number }>`
      select (select count(*)::int from access.events) as events, (select count(*)::int from catalog.suppliers) as suppliers`.execute(
      kysely,
    );
    expect(rows).toEqual([{ events: 0, suppliers: 0 }]);
    await sql`drop trigger refuse on ${sql.table(`catalog.${table}`)}`.execute(kysely);
    const { kinds } = await publishLines(made.database, catalog);
    expect(kinds.solicitations?.added).toBe(RECORDS);
  },
);
