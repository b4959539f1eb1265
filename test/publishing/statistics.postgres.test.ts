import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { vacuum } from '../../src/database/vacuum.ts';
import { createTestDatabase } from '../support/database.ts';

test.each([
  { changes: 999, records: 1_000, isAnalyzed: false },
  { changes: 1_000, records: 1_000, isAnalyzed: true },
  { changes: 9_999, records: 1_000_000, isAnalyzed: false },
  { changes: 10_000, records: 1_000_000, isAnalyzed: true },
])(
  'after $changes changes to a table of $records records, statistics are refreshed: $isAnalyzed',
  async ({ changes, records, isAnalyzed }) => {
    await using made = await createTestDatabase();
    const { kysely } = made.database;
    const table = sql`oid = 'catalog.contracts'::regclass`;
    await sql`update pg_catalog.pg_class set reltuples = ${records} where ${table}`.execute(kysely);
    expect(await vacuum(made.database, changes)).toBe(null);
    const { rows } = await sql<{ estimate: number }>`
      select reltuples::int as estimate from pg_catalog.pg_class where ${table}`.execute(kysely);
    // The table is empty.
    expect(rows[0]?.estimate).toBe(isAnalyzed ? 0 : records);
  },
);
