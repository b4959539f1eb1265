import { sql } from 'kysely';
import { inTransaction, type Database, type OpenDatabase } from '../database/database.ts';
import { drawInstant, raiseAccessVersion } from '../database/series.ts';
import type { Clock } from '../instant.ts';

/** The number of the publication that comes next; `lockCatalog` keeps others from taking it. */
export async function nextPublication({ kysely }: Database): Promise<number> {
  const { last } = await kysely
    .selectFrom('catalog.publications')
    .select((eb) => eb.fn.max('number').as('last'))
    .executeTakeFirstOrThrow();
  return ((last as number | null) ?? 0) + 1;
}

/**
 * Draws the instant of a publication and makes it known: the last step before the commit.
 *
 * @param after an instant that it has to be later than besides.
 */
export async function announcePublication(
  transaction: Database,
  publication: number,
  clock: Clock,
  after?: string,
): Promise<string> {
  const { kysely } = transaction;
  const instant = await drawInstant(transaction, clock, after);
  await kysely.insertInto('catalog.publications').values({ number: publication, instant }).execute();
  await kysely.updateTable('access.clock').set({ last_publication: instant }).execute();
  return instant;
}

/**
 * Announces what is published in `catalog` and not in `access`: the process that published died
 * between SQLite's two commits. Partners see it already; but servers go on giving answers that they
 * kept from before, since only `access` tells them of a change.
 *
 * @returns the instant of the publication; null where there is none to announce.
 */
export async function announceCutOff(database: OpenDatabase): Promise<string | null> {
  if (database.engine === 'postgres' || (await findUnannounced(database)) === null) return null;
  return inTransaction(database, async (transaction) => {
    // Waits for an import that is between its commits at this moment: it holds the lock on `access` until the second.
    await raiseAccessVersion(transaction);
    const instant = await findUnannounced(transaction);
    if (instant !== null)
      await transaction.kysely.updateTable('access.clock').set({ last_publication: instant }).execute();
    return instant;
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

/** Fewer changed records than this leave the planner's figures as good as they were. */
const CHANGES_WORTH_ANALYZING = 1_000;

/**
 * Gives the planner the new figures, and SQLite's log back to the disk. Vacuuming lets PostgreSQL
 * count in an index alone. Not needed for correctness.
 *
 * @param changes how many records were written.
 * @returns false where it is left to PostgreSQL's autovacuum, as this role may not do so: roles that only write own no
 *   table, and may be let do that from PostgreSQL 17 on.
 */
export async function tidyUp({ engine, kysely }: OpenDatabase, changes: number): Promise<boolean> {
  if (engine === 'sqlite') {
    await sql`pragma catalog.optimize`.execute(kysely);
    await sql`pragma catalog.wal_checkpoint(truncate)`.execute(kysely);
    return true;
  }
  if (changes < CHANGES_WORTH_ANALYZING) return true;
  const { rows } = await sql<{ name: string; may: boolean }>`
    select relname as name, case when current_setting('server_version_num')::int >= 170000
      then has_table_privilege(oid, 'MAINTAIN') else pg_has_role(relowner, 'USAGE') end as may
    from pg_catalog.pg_class where relnamespace = 'catalog'::regnamespace and relkind = 'r'`.execute(kysely);
  for (const { name, may } of rows) {
    if (may) await sql`vacuum (analyze) ${sql.table(`catalog.${name}`)}`.execute(kysely);
  }
  return rows.every(({ may }) => may);
}
