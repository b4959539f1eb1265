import { sql } from 'kysely';
import { formatInstant, type Clock } from '../instant.ts';
import { recordChange } from './audit.ts';
import { inTransaction, type Database, type OpenDatabase } from './database.ts';
import { endWithClient } from './client-check.ts';
import { SchemaVersionError } from './errors.ts';
import { readRecordedHistory, recordHistory } from './history.ts';
import type { TableGroup } from './migration.ts';
import { MIGRATIONS } from './migrations.ts';

const GROUPS: readonly TableGroup[] = ['catalog', 'access'];

// Any number will do that nothing else on the server uses; these are the ASCII codes of "pds" and a counter.
const MIGRATION_LOCK = 0x70647301;

/** What stands between a database and this version of the schema. */
export interface SchemaState {
  /** The first migration has not come to its end. */
  isEmpty: boolean;
  /** Names of the migrations that have not run, in order. */
  pending: string[];
}

/** Who wants to use the schema: a server may find one that a newer version has only added to, since upgrades begin with it. */
export type SchemaUse = 'serve' | 'command';

/**
 * Compares the database with the migrations of this version.
 *
 * @throws SchemaVersionError where a newer version of the service has migrated it to what this use cannot work on.
 */
export async function readSchemaState(database: Database, use: SchemaUse = 'command'): Promise<SchemaState> {
  const pending: string[] = [];
  await refuseHalfLost(database);
  // `access` comes last: without it, a first migration was cut off, or is under way in another process.
  const isEmpty = (await lastApplied(database, 'access')) === null;
  for (const group of GROUPS) {
    const applied = await lastApplied(database, group);
    const known = MIGRATIONS[group].length;
    if (applied !== null && applied > known) {
      if (use === 'serve' && (await oldestServed(database, group)) <= known) continue;
      throw new SchemaVersionError(
        `the database's ${group} schema is at ${applied}, and this version of the service knows only ${known}: ` +
          'start the version that migrated it, or a newer one',
      );
    }
    pending.push(...MIGRATIONS[group].slice(applied ?? 0).map((step) => `${group} ${step.number}: ${step.name}`));
  }
  return { isEmpty, pending };
}

/**
 * Runs the migrations that are pending, each in a transaction with its own row of the ledger.
 * Two processes that migrate at once converge: the second waits for the first, and finds
 * nothing left to do.
 *
 * @returns the names of those that ran.
 * @throws SchemaVersionError where a newer version of the service has migrated it.
 */
export async function migrate(database: Database, clock: Clock): Promise<string[]> {
  const { isEmpty, pending } = await readSchemaState(database);
  if (pending.length === 0) return [];
  // First of all: what is cut off after a step must not look as if older servers worked on it.
  if (!isEmpty) await inTransaction(database, noteOldestServed);
  const ran: string[] = [];
  for (const group of GROUPS) {
    const hasLedger = (await lastApplied(database, group)) !== null;
    await inTransaction(database, async (transaction) => {
      await lockLedger(transaction, group, hasLedger);
      const applied = (await lastApplied(transaction, group)) ?? 0;
      for (const migration of MIGRATIONS[group].slice(applied)) {
        await transaction.kysely
          .insertInto(`${group}.migrations`)
          .values({ number: migration.number, name: migration.name, applied_at: formatInstant(clock()) })
          .execute();
        for (const statement of migration.statements(database.engine)) {
          await sql.raw(statement).execute(transaction.kysely);
        }
        ran.push(`${group} ${migration.number}: ${migration.name}`);
      }
      if (group !== 'access') return;
      await noteOldestServed(transaction);
      if ((await readRecordedHistory(transaction)) === null) await recordHistory(transaction);
      // `access` comes last, and holds the trail.
      if (ran.length > 0)
        await recordChange(transaction, clock, { action: 'migrate', details: { migrations: [...ran] } });
    });
  }
  return ran;
}

/** The setting that names the oldest schema of a group whose servers work on the one that is there. */
const oldestServedName = (group: TableGroup): string => `oldest_served_${group}`;

/** Where it is missing, older servers refuse the database, which is the safe side. */
async function noteOldestServed(database: Database): Promise<void> {
  for (const group of GROUPS) {
    const oldest = MIGRATIONS[group].findLast((migration) => migration.isAdditive !== true)?.number ?? 1;
    const row = { name: oldestServedName(group), value: String(oldest) };
    await database.kysely
      .insertInto('access.settings')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: row.value }))
      .execute();
  }
}

/** The oldest schema of a group whose servers work on the one that is there; infinite where nothing says so. */
async function oldestServed({ kysely }: Database, group: TableGroup): Promise<number> {
  const row = await kysely
    .selectFrom('access.settings')
    .select('value')
    .where('name', '=', oldestServedName(group))
    .executeTakeFirst();
  return row === undefined ? Infinity : Number(row.value);
}

/**
 * Makes the database ready for a command or a server: an empty database and an older SQLite
 * file are migrated; an older PostgreSQL schema is left alone, since other servers may be using it.
 *
 * @returns the names of the migrations that ran.
 * @throws SchemaVersionError where `pds migrate` has to be run, or the schema is too new.
 */
export async function prepareSchema(
  database: OpenDatabase,
  clock: Clock,
  use: SchemaUse = 'command',
): Promise<string[]> {
  const { isEmpty, pending } = await readSchemaState(database, use);
  if (pending.length === 0) return [];
  if (database.engine === 'postgres' && !isEmpty) {
    throw new SchemaVersionError(
      `the PostgreSQL schema is older than this version of the service (pending: ${pending.join(', ')}): run "pds migrate"`,
    );
  }
  return migrate(database, clock);
}

/**
 * A group that is empty is filled by the first migration. Not where what stood in it is lost: an
 * empty one in its place would look as if all were well.
 */
async function refuseHalfLost(database: Database): Promise<void> {
  const lost = (await findLost(database)) && (await findLost(database));
  // Looked for twice: a first migration may have come to its end between the reads.
  if (lost === null) return;
  throw new SchemaVersionError(`the database has lost ${lost}: restore all of it from a backup. Nothing was changed`);
}

async function findLost(database: Database): Promise<string | null> {
  const catalog = await lastApplied(database, 'catalog');
  const access = await lastApplied(database, 'access');
  if (catalog === null && access !== null) return 'its catalog, which holds what is published';
  // `access` is made last: without a publication, what there is may be a first migration that was cut off.
  const isLost = catalog !== null && access === null && (await hasPublications(database));
  return isLost ? 'its access, which holds partners and keys' : null;
}

async function hasPublications({ kysely }: Database): Promise<boolean> {
  return (await kysely.selectFrom('catalog.publications').select('number').limit(1).execute()).length > 0;
}

/**
 * The number of the newest migration that ran; null before the first.
 *
 * @throws SchemaVersionError where the tables that are there are not this service's.
 */
async function lastApplied(database: Database, group: TableGroup): Promise<number | null> {
  const found =
    database.engine === 'sqlite'
      ? sql`${sql.raw(group)}.sqlite_schema where type = 'table'`
      : sql`(select tablename as name from pg_catalog.pg_tables where schemaname = ${group}) as tables`;
  const { rows } = await sql<{ tables: number; ledgers: number }>`
    select count(*) as tables, count(*) filter (where name = 'migrations') as ledgers from ${found}`.execute(
    database.kysely,
  );
  const [counted] = rows;
  if (Number(counted?.ledgers) === 0) {
    if (Number(counted?.tables) === 0) return null;
    throw new SchemaVersionError(
      `the ${group} of the database holds tables that are not this service's: is PDS_DATABASE_URL right? Nothing was changed`,
    );
  }
  const newest = await database.kysely
    .selectFrom(`${group}.migrations`)
    .select((eb) => eb.fn.max('number').as('number'))
    .executeTakeFirst();
  return newest?.number ?? null;
}

/** Makes the ledger. A restored backup is compared with this definition, so it is as final as a released migration. */
export function ledgerStatement(group: TableGroup): string {
  return `create table if not exists ${group}.migrations (
    number bigint primary key, name text not null, applied_at text not null)`;
}

/**
 * Waits until no other process migrates this group, and makes the ledger where there is none.
 *
 * @param hasLedger as it was before the transaction: SQLite waits for another's lock only where the first
 *   statement of a transaction writes; one that has read before fails at once.
 */
async function lockLedger(transaction: Database, group: TableGroup, hasLedger: boolean): Promise<void> {
  if (transaction.engine === 'postgres') {
    // "create schema if not exists" is no lock by itself: two that run at once collide in the system's catalogue.
    await endWithClient(transaction);
    await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK}::bigint)`.execute(transaction.kysely);
    // While a migration waits for a table that a pg_dump holds, every service would wait behind it.
    await sql`set local lock_timeout = '2s'`.execute(transaction.kysely);
    await sql.raw(`create schema if not exists ${group}`).execute(transaction.kysely);
  }
  if (!hasLedger) await sql.raw(ledgerStatement(group)).execute(transaction.kysely);
  if (transaction.engine === 'sqlite') {
    // Takes the file's write lock also where the table was there already.
    await sql.raw(`update ${group}.migrations set number = number where false`).execute(transaction.kysely);
  }
}
