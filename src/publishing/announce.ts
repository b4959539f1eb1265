import { sql } from 'kysely';
import { inTransaction, type Database, type OpenDatabase } from '../database/database.ts';
import { nextCommitTimestamp, bumpRevision } from '../database/commit-timestamps.ts';
import { SQLITE_FULL, sqliteCode } from '../database/sqlite/sqlite-errors.ts';
import type { Clock } from '../timestamp.ts';

/** The next publication's number. `lockCatalog` keeps other imports from taking it. */
export async function nextPublication({ kysely }: Database): Promise<number> {
  const { last } = await kysely
    .selectFrom('catalog.publications')
    .select((eb) => eb.fn.max('number').as('last'))
    .executeTakeFirstOrThrow();
  return ((last as number | null) ?? 0) + 1;
}

/**
 * Draws a publication's timestamp and makes it known to servers: the last step before the commit.
 *
 * @param after a timestamp that the publication's must also exceed.
 */
export async function announcePublication(
  transaction: Database,
  publication: { number: number; token: string },
  clock: Clock,
  after?: string,
): Promise<string> {
  const { kysely } = transaction;
  const timestamp = await nextCommitTimestamp(transaction, clock, after);
  await kysely
    .insertInto('catalog.publications')
    .values({ ...publication, instant: timestamp })
    .execute();
  await kysely.updateTable('access.clock').set({ last_publication: timestamp }).execute();
  return timestamp;
}

/**
 * Announces a publication that is in `catalog` but not in `access`, because the importing process died between SQLite's
 * two commits. Partners see the new records already, but servers still serve stale cache entries, since only `access`
 * signals a change.
 *
 * @returns the publication's timestamp; null if there is none to announce.
 */
export async function announceCutOff(database: OpenDatabase): Promise<string | null> {
  if (database.engine === 'postgres' || (await findUnannounced(database)) === null) return null;
  return inTransaction(database, async (transaction) => {
    // Waits for an import that is between its two commits: it holds the lock on `access` until the second.
    await bumpRevision(transaction);
    const timestamp = await findUnannounced(transaction);
    if (timestamp !== null)
      await transaction.kysely.updateTable('access.clock').set({ last_publication: timestamp }).execute();
    return timestamp;
  });
}

async function findUnannounced({ kysely }: Database): Promise<string | null> {
  const { last_publication: announced } = await kysely
    .selectFrom('access.clock')
    .select('last_publication')
    .executeTakeFirstOrThrow();
  const { published } = await kysely
    .selectFrom('catalog.publications')
    .select((eb) => eb.fn.max('instant').as('published'))
    .executeTakeFirstOrThrow();
  return (published as string | null) !== null && published > announced ? published : null;
}

/** Below this number of changed records, or this share of a table, the planner's statistics remain good enough. */
const CHANGES_WORTH_ANALYZING = 1_000;
const PART_WORTH_ANALYZING = 0.01;

const LEFT_TO_AUTOVACUUM =
  "this role has no privilege to vacuum and analyze the tables: until PostgreSQL's autovacuum does so, " +
  'searches may take longer';

/**
 * Refreshes the planner's statistics, and shrinks SQLite's WAL file. On PostgreSQL, vacuuming also lets counts use
 * index-only scans. Not needed for correctness: if it fails, the import still succeeds.
 *
 * @param changes the number of records written.
 * @returns a message for the operator if it could not be done; null otherwise.
 */
export async function tidyUp(database: OpenDatabase, changes: number): Promise<string | null> {
  if (database.engine === 'sqlite') return emptySqliteLog(database);
  const isTidy = await vacuumPostgres(database, changes).catch(() => true);
  return isTidy ? null : LEFT_TO_AUTOVACUUM;
}

/** Checkpoints and truncates SQLite's WAL. Waits for readers up to the busy timeout. */
async function emptySqliteLog({ kysely }: OpenDatabase): Promise<string | null> {
  try {
    await sql`pragma catalog.optimize`.execute(kysely);
    const { rows } = await sql<{ busy: number }>`pragma catalog.wal_checkpoint(truncate)`.execute(kysely);
    return rows[0]?.busy === 1
      ? await describeKeptLog(kysely, 'a program was reading an older state of it for seconds. End that program')
      : null;
  } catch (error) {
    const isFull = sqliteCode(error) === SQLITE_FULL;
    return describeKeptLog(kysely, isFull ? 'no space is left on the disk. Free some' : (error as Error).message);
  }
}

async function describeKeptLog(kysely: OpenDatabase['kysely'], reason: string): Promise<string> {
  const { rows } = await sql<{ file: string }>`
    select file from pragma_database_list where name = 'catalog'`.execute(kysely);
  const file = rows[0]?.file ?? '';
  return (
    `warning: the import is complete and safe, but ${file}-wal could not be emptied into ${file}: ${reason}, and run the ` +
    'same import again, which tries again. Until then that log takes room, and reading is slower; do not delete it, since it holds records'
  );
}

/**
 * @returns false if autovacuum must do it because this role lacks the privilege. Writer roles own no tables, and can be
 *   granted it only from PostgreSQL 17 on.
 */
async function vacuumPostgres({ kysely }: OpenDatabase, changes: number): Promise<boolean> {
  if (changes < CHANGES_WORTH_ANALYZING) return true;
  const { rows } = await sql<{ name: string; records: number; may: boolean }>`
    select relname as name, reltuples as records, case when current_setting('server_version_num')::int >= 170000
      then has_table_privilege(oid, 'MAINTAIN') else pg_has_role(relowner, 'USAGE') end as may
    from pg_catalog.pg_class where relnamespace = 'catalog'::regnamespace and relkind = 'r'`.execute(kysely);
  if (changes < PART_WORTH_ANALYZING * Math.max(...rows.map(({ records }) => records))) return true;
  for (const { name, may } of rows) {
    if (may) await sql`vacuum (analyze) ${sql.table(`catalog.${name}`)}`.execute(kysely);
  }
  return rows.every(({ may }) => may);
}
