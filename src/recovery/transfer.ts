import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { writeAuditEntry } from '../database/audit.ts';
import { lockCatalog, lockFiles, type WorkHooks } from '../database/catalog-lock.ts';
import { inTransaction, type Database, type OpenDatabase } from '../database/database.ts';
import { lockLog } from '../database/event-log.ts';
import { prepareSchema } from '../database/migrations/migrator.ts';
import { recordTimeline } from '../database/postgres/timeline.ts';
import { countRows, insertRows } from '../database/rows.ts';
import type { Tables } from '../database/tables.ts';
import { OperatorError } from '../operator-error.ts';
import { vacuum } from '../database/vacuum.ts';
import type { Clock } from '../timestamp.ts';
import { isUnused } from './unused-database.ts';

/**
 * Copies every row of every table of a SQLite database into an empty one of PostgreSQL, where the service continues with
 * the same keys, cursors and watermarks. Imports and changes of partners, keys and grants wait until it is done.
 *
 * @returns the number of rows by table, such as `access.keys`, and a note for the operator about the target, or null.
 * @throws OperatorError if the target is not empty.
 */
export async function transfer(source: Database, target: OpenDatabase, options: WorkHooks & { readonly clock: Clock }) {
  const { clock, onCommit } = options;
  await prepareSchema(target, clock);
  await refuseUsed(target);
  using _lock = source.catalogFiles === undefined ? null : await lockFiles(source.catalogFiles, options);
  source.catalogFiles?.attachCurrent();
  const tables = await inTransaction(source, async (from) => {
    // Changes of partners, keys and grants begin with this lock.
    await lockLog(from, clock);
    return inTransaction(target, async (into) => {
      await lockCatalog(into, {});
      await refuseUsed(into);
      const copied = await copyTables(from, into, options);
      await sql`update access.events set file = null, made_from = null`.execute(into.kysely);
      await recordTimeline(into);
      await continueIdentities(into);
      await writeAuditEntry(into, clock, { action: 'transfer', details: { from: source.engine } });
      await setImmediate();
      onCommit?.();
      return copied;
    });
  });
  const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
  return { tables, note: await vacuum(target, rows) };
}

async function refuseUsed(database: Database): Promise<void> {
  if (await isUnused(database)) return;
  throw new OperatorError('the target holds partners or records: name a database that is empty. Nothing was changed');
}

async function copyTables(
  from: Database,
  into: Database,
  { onProgress = () => undefined }: WorkHooks,
): Promise<Record<string, number>> {
  const tables = await readTables(into);
  // Later tables refer to earlier ones.
  for (const table of [...tables.keys()].toReversed()) await sql`delete from ${sql.table(table)}`.execute(into.kysely);
  let total = 0;
  for (const table of tables.keys()) total += await countRows(from, table);
  const copied: Record<string, number> = {};
  let done = 0;
  for (const [table, columns] of tables) {
    copied[table] = 0;
    for await (const rows of readRows(from, table, columns)) {
      onProgress({ done, total, what: table });
      await insertRows(into, table, rows);
      copied[table] += rows.length;
      done += rows.length;
      // SQLite's statements resolve in microtasks, during which no signal is handled.
      await setImmediate();
    }
  }
  return copied;
}

/** PostgreSQL's tables with their columns, in the order of creation. */
async function readTables({ kysely }: Database) {
  const { rows } = await sql<{ table: keyof Tables; column: string }>`
    select relnamespace::regnamespace::text || '.' || relname as "table", attname as "column"
    from pg_catalog.pg_class as entry join pg_catalog.pg_attribute on attrelid = entry.oid
    where relnamespace in ('catalog'::regnamespace, 'access'::regnamespace)
      and relkind = 'r' and attnum > 0 and not attisdropped
    order by entry.oid, attnum`.execute(kysely);
  return Map.groupBy(rows, ({ table }) => table);
}

/** Records are up to a few MB; most are a few kB. */
const ROWS_AT_ONCE = 200;

/** All rows of a table of SQLite, as of the beginning. Call it in a transaction. */
async function* readRows(
  { kysely }: Database,
  table: keyof Tables,
  columns: readonly { readonly column: string }[],
): AsyncGenerator<object[]> {
  const names = sql.join(columns.map(({ column }) => sql.ref(column)));
  let last = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const { rows } = await sql<{ rowid_read: number }>`select ${names}, rowid as rowid_read from ${sql.table(table)}
      where rowid > ${last} order by rowid limit ${sql.lit(ROWS_AT_ONCE)}`.execute(kysely);
    if (rows.length > 0) yield rows.map(({ rowid_read: _, ...row }) => row);
    if (rows.length < ROWS_AT_ONCE) return;
    last = rows.at(-1)?.rowid_read ?? last;
  }
}

/** Makes generated ids of PostgreSQL continue after copied ones. */
async function continueIdentities({ kysely }: Database): Promise<void> {
  const { rows } = await sql<{ table: string; column: string }>`
    select table_schema || '.' || table_name as "table", column_name as "column"
    from information_schema.columns where is_identity = 'YES' and table_schema in ('catalog', 'access')`.execute(
    kysely,
  );
  for (const { table, column } of rows) {
    await sql`select setval(pg_get_serial_sequence(${table}, ${column}), coalesce(max(${sql.ref(column)}), 0) + 1, false)
      from ${sql.table(table)}`.execute(kysely);
  }
}
