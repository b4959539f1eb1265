import { sql } from 'kysely';
import { beforeEach, expect, test } from 'vitest';
import { inTransaction, type Database } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { isConnectionLost } from '../../src/database/postgres/postgres-errors.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';

const COLUMNS = ['id', 'label'];
const LONG_TEXT = 'long '.repeat(10_000);

const made = forEachTest(createEmptyDatabase);
beforeEach(() => sql`create table copied (id bigint primary key, label text)`.execute(made.database.kysely));

async function copy({ kysely, copyRows }: Database, rows: Iterable<readonly unknown[]>): Promise<void> {
  if (copyRows === undefined) throw new Error('this database copies no rows');
  await copyRows(kysely, 'copied', COLUMNS, rows);
}

async function backendOf({ kysely }: Database): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(kysely);
  return rows[0]?.pid ?? 0;
}

async function copiedIds({ kysely }: Database): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`select id from copied order by id`.execute(kysely);
  return rows.map(({ id }) => id);
}

function* longRows(count: number): Generator<[number, string]> {
  for (let id = 0; id < count; id += 1) yield [id, LONG_TEXT];
}

/**
 * Copies within a transaction that fails; asserts that nothing was copied, and that the same connection still works.
 */
async function expectFailure(rows: Iterable<readonly unknown[]>, error: object): Promise<void> {
  let backend = 0;
  const failed = inTransaction(made.database, async (transaction) => {
    backend = await backendOf(transaction);
    await copy(transaction, rows);
  });
  await expect(failed).rejects.toMatchObject(error);
  expect(await backendOf(made.database)).toBe(backend);
  expect(await copiedIds(made.database)).toEqual([]);
  await inTransaction(made.database, (transaction) => copy(transaction, [[1, 'after']]));
  expect(await copiedIds(made.database)).toEqual([1]);
}

test('a server error during a copy is thrown, and the connection works after the rollback', async () => {
  function* rows() {
    yield* longRows(100);
    yield [50, 'a repeated id'];
    yield* longRows(400);
  }
  await expectFailure(rows(), { code: '23505', constraint: 'copied_pkey' });
});

test('an error from the row source ends the copy, and the connection works after the rollback', async () => {
  function* rows() {
    yield* longRows(100);
    throw new Error('no more rows');
  }
  await expectFailure(rows(), { message: 'no more rows' });
});

test.each([
  { row: [1.5, 'text'], error: { message: 'COPY cannot take a value of type number' } },
  { row: [2 ** 53, 'text'], error: { message: 'COPY cannot take a value of type number' } },
  { row: [1, undefined], error: { message: 'COPY cannot take a value of type undefined' } },
  { row: ['one', 'text'], error: { code: '22P02' } },
  { row: [1], error: { code: '22P04' } },
  { row: [1, 'a\0b'], error: { code: '22021' } },
])('a value that does not fit its column is refused: $row', async ({ row, error }) => {
  await expectFailure([row], error);
});

// `rows.test.ts` copies any text and bytes.
test('a text with each character that COPY escapes arrives as it was sent', async () => {
  const text = 'a\tb\r\nc\\\\N';
  await expect(copy(made.database, [[1, text]])).resolves.toBeUndefined();
  const { rows } = await sql`select label from copied`.execute(made.database.kysely);
  expect(rows).toEqual([{ label: text }]);
});

test('a copy fails if its connection is lost, and the next transaction uses another', async () => {
  await using other = openForCommands(made.config);
  const failed = inTransaction(made.database, async (transaction) => {
    const backend = await backendOf(transaction);
    let ended: Promise<unknown> = Promise.resolve();
    function* rows(): Generator<[number, string]> {
      yield* longRows(100);
      ended = sql`select pg_terminate_backend(${backend})`.execute(other.kysely);
      for (let id = 100; id < 5_000; id += 1) yield [id, LONG_TEXT];
    }
    await copy(transaction, rows()).finally(() => ended);
  });
  await expect(failed).rejects.toSatisfy(isConnectionLost);
  expect(await copiedIds(made.database)).toEqual([]);
});

test('a copy on an already lost connection fails', async () => {
  await using other = openForCommands(made.config);
  const failed = inTransaction(made.database, async (transaction) => {
    await copy(transaction, [[1, 'before']]);
    await sql`select pg_terminate_backend(${await backendOf(transaction)}, 10000)`.execute(other.kysely);
    await copy(transaction, [[2, 'after']]);
  });
  await expect(failed).rejects.toSatisfy(isConnectionLost);
  expect(await copiedIds(made.database)).toEqual([]);
});

/** Runs this work while each insert waits for the advisory lock 1, which `blocking` has. */
async function whileInsertsWait(work: (blocking: Database) => Promise<void>): Promise<void> {
  const { kysely } = made.database;
  await sql`create function wait() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock(1); return new; end $$`.execute(kysely);
  await sql`create trigger wait before insert on copied for each row execute function wait()`.execute(kysely);
  await using other = openForCommands(made.config);
  await inTransaction(other, async (blocking) => {
    await sql`select pg_advisory_xact_lock(1)`.execute(blocking.kysely);
    await work(blocking);
  });
}

test('a copy reports that its rows are sent while the server still writes them, and the next statement waits', async () => {
  let copying: Promise<unknown> = Promise.resolve();
  await whileInsertsWait(async (blocking) => {
    const sent = Promise.withResolvers<null>();
    copying = inTransaction(made.database, async (transaction) => {
      const written = transaction.copyRows?.(transaction.kysely, 'copied', COLUMNS, [[1, 'one']], () =>
        sent.resolve(null),
      );
      return (await Promise.all([written, copiedIds(transaction)]))[1];
    });
    await sent.promise;
    expect(await copiedIds(blocking)).toEqual([]);
  });
  expect(await copying).toEqual([1]);
});

test('rows are read no faster than the server accepts them', async () => {
  const total = 1_000;
  let read = 0;
  function* rows() {
    for (const row of longRows(total)) {
      read += 1;
      yield row;
    }
  }
  let copying: Promise<void> = Promise.resolve();
  await whileInsertsWait(async (blocking) => {
    copying = inTransaction(made.database, (transaction) => copy(transaction, rows()));
    // Waits until the server blocks and every buffer on the way to it is full.
    for (let before = 0, unchanged = 0; unchanged < 50; before = read) {
      const { rows: waiting } = await sql`select from pg_locks where locktype = 'advisory' and not granted`.execute(
        blocking.kysely,
      );
      unchanged = waiting.length > 0 && read === before ? unchanged + 1 : 0;
    }
    expect(read).toBeLessThan(total / 2);
  });
  await copying;
  expect(await copiedIds(made.database)).toHaveLength(total);
});
