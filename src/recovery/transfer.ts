import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { writeAuditEntry } from '../database/audit.ts';
import { lockCatalog, type WorkHooks } from '../database/catalog-lock.ts';
import { inTransaction, type Database, type OpenDatabase } from '../database/database.ts';
import { prepareSchema } from '../database/migrations/migrator.ts';
import { hasTimelineChanged, HISTORY, recordTimeline } from '../database/postgres/timeline.ts';
import { continueIdentities, insertRows, readRows, readTables } from '../database/rows.ts';
import { firstRow } from '../database/statement.ts';
import { OperatorError } from '../operator-error.ts';
import { vacuum } from '../database/vacuum.ts';
import type { Clock } from '../timestamp.ts';
import { isUnused } from './unused-database.ts';

/**
 * Copies every row of every table into an empty database, of the same or the other engine: records and index, releases,
 * partners, keys, grants, usage, the audit trail, the secret of the cursors and the clock. So the service continues on
 * the target with the same keys, cursors and watermarks.
 *
 * Imports and changes of partners, keys and grants in the source wait until it is done; servers continue. The tables
 * and columns are those that the databases have, in the order in which the migrations created them.
 *
 * @returns the number of rows by table, such as `access.keys`, and a note for the operator about the target, or null.
 * @throws OperatorError if the target is not empty, or the source must be recovered first.
 */
export async function transfer(source: Database, target: OpenDatabase, options: WorkHooks & { readonly clock: Clock }) {
  const { clock, onCommit } = options;
  if (await hasTimelineChanged(source)) {
    throw new OperatorError('the source was promoted or restored, and may have lost changes: run "pds recover" first');
  }
  await prepareSchema(target, clock);
  await refuseUsed(target);
  const tables = await inTransaction(source, async (from) => {
    await lockCatalog(from, options);
    // Changes of partners, keys and grants begin with this row.
    await from.kysely
      .updateTable('access.clock')
      .set({ version: sql<number>`version` })
      .execute();
    return inTransaction(target, async (into) => {
      await lockCatalog(into, {});
      await refuseUsed(into);
      const copied = await copyTables(from, into, options);
      await into.kysely.deleteFrom('access.settings').where('name', '=', HISTORY).execute();
      await recordTimeline(into);
      await continueIdentities(into);
      await writeAuditEntry(into, clock, { action: 'transfer', details: { from: source.engine } });
      await setImmediate();
      onCommit?.();
      return copied;
    });
  });
  const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
  return { tables, note: await vacuum(target, rows).catch(() => null) };
}

/** Accepts records alone: a transfer killed between SQLite's two commits leaves them, and the next replaces them. */
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
  const columnsOf = new Map((await readTables(from)).map(({ table, columns }) => [table, columns]));
  for (const { table, columns } of tables) {
    if (columns.toSorted().join() === columnsOf.get(table)?.toSorted().join()) continue;
    throw new OperatorError(`${table} has other columns in the source than in the target. Nothing was transferred`);
  }
  // Later tables refer to earlier ones.
  for (const { table } of tables.toReversed()) await sql`delete from ${sql.table(table)}`.execute(into.kysely);
  let total = 0;
  for (const { table } of tables) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(
      from.kysely,
    );
    total += firstRow(rows).count;
  }
  const copied: Record<string, number> = {};
  let done = 0;
  for (const described of tables) {
    const { table } = described;
    copied[table] = 0;
    for await (const rows of readRows(from, described)) {
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
