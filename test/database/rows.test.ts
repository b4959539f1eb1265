import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { inTransaction } from '../../src/database/database.ts';
import type { Tables } from '../../src/database/tables.ts';
import { insertRows, writeRows } from '../../src/database/rows.ts';
import { databaseForAllTests } from '../support/database.ts';
import { numberOfRuns } from '../support/runs.ts';

interface WrittenRow {
  id: number;
  block: number;
  label: string | null;
  bits: Uint8Array | null;
}

/** A table used only by these tests. */
const TABLE = 'catalog.written' as keyof Tables;

const made = databaseForAllTests();
beforeAll(async () => {
  await sql`create table catalog.written (id bigint primary key, block int not null, label text, bits bytea)`.execute(
    made.database.kysely,
  );
});

const NUL = '\0';
const text = fc.oneof(
  fc.string({ unit: 'binary' }).map((value) => value.replaceAll(NUL, '')),
  fc.constantFrom(
    '',
    '\\N',
    '\\.',
    '\\',
    '\t',
    'a\tb\r\nc\n',
    '\\x00',
    '"',
    "'",
    '{"a":"\\n"}',
    'é',
    '😀',
    '\u{10FFFF}',
  ),
  // More than is sent in one chunk, in characters of one and of three bytes.
  fc.constantFrom('x'.repeat(70_000), '€'.repeat(40_000)),
);
const bytes = fc.oneof(fc.uint8Array(), fc.constantFrom(new Uint8Array(8_192).fill(255), new Uint8Array(100_000)));
const row: fc.Arbitrary<WrittenRow> = fc.record({
  id: fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, 2 ** 31, 2 ** 32, -(2 ** 32) - 1, Number.MIN_SAFE_INTEGER)),
  block: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  label: fc.option(text),
  bits: fc.option(bytes),
});
const someRows = fc.uniqueArray(row, { selector: ({ id }) => id, maxLength: 20 });

async function storedRows(): Promise<WrittenRow[]> {
  const { rows } = await sql<WrittenRow>`select id, block, label, bits from catalog.written order by id`.execute(
    made.database.kysely,
  );
  return rows;
}

/** A comparable form of rows, whether bytes are a Buffer or not. */
function comparable(rows: readonly WrittenRow[]): unknown[] {
  return rows
    .map(({ bits, ...others }) => ({ ...others, bits: bits === null ? null : Buffer.from(bits).toString('hex') }))
    .sort((a, b) => a.id - b.id);
}

test('new and replaced rows are read back as they were written: any text, whole number, bytes and null', async () => {
  await fc.assert(
    fc.asyncProperty(someRows, someRows, async (before, after) => {
      await sql`delete from catalog.written`.execute(made.database.kysely);
      const there = new Set(before.map(({ id }) => id));
      const rows = [
        ...after,
        ...before.map((old) => ({ ...old, label: 'replaced', bits: new Uint8Array([0, 92, 255]) })),
      ];
      const written = [...new Map(rows.map((one) => [one.id, one])).values()];
      await inTransaction(made.database, (transaction) => insertRows(transaction, TABLE, before));
      expect(comparable(await storedRows())).toEqual(comparable(before));
      const toWrite = written.map((one) => ({ row: one, isNew: !there.has(one.id) }));
      await inTransaction(made.database, (transaction) => writeRows(transaction, TABLE, 'id', toWrite));
      expect(comparable(await storedRows())).toEqual(comparable(written));
    }),
    { numRuns: numberOfRuns({ usually: 50, nightly: 200 }) },
  );
});
