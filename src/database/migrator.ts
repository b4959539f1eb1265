import { sql } from 'kysely';
import { formatInstant, type Clock } from '../instant.ts';
import { lockCatalog } from '../publishing/lock.ts';
import { recordChange } from './audit.ts';
import { inTransaction, type Database, type OpenDatabase } from './database.ts';
import { endWithClient } from './client-check.ts';
import { SchemaVersionError } from './errors.ts';
import { readRecordedHistory, recordHistory } from './history.ts';
import type { Migration, OnMigrationProgress, TableGroup } from './migration.ts';
import { MIGRATIONS } from './migrations.ts';

const GROUPS: readonly TableGroup[] = ['catalog', 'access'];

// Any number will do that nothing else on the server uses; these are the ASCII codes of "pds" and a counter.
const MIGRATION_LOCK = 0x70647301;

/** What stands between a database and this version of the schema. */
export interface SchemaState {
  /** The first migration has not come to its end. */
  isEmpty: boolean;
  /** Names of the migrations that have not run, in order; deferred ones only on an empty database. */
  pending: string[];
}

export interface MigrateOptions {
  /** Also runs deferred migrations: no server of the version before is left. */
  readonly finish?: boolean;
  readonly onProgress?: OnMigrationProgress;
  /** Called once if an import has to be waited for. */
  readonly onWaiting?: () => void;
  /** Called repeatedly while waiting: an error that it throws ends the wait. */
  readonly throwIfInterrupted?: () => void;
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
    pending.push(
      ...dueMigrations(group, isEmpty)
        .slice(applied ?? 0)
        .map(nameIn(group)),
    );
  }
  return { isEmpty, pending };
}

/** Names of the deferred migrations that have not run. Empty for a database without tables. */
export async function readDeferred(database: Database): Promise<string[]> {
  const deferred: string[] = [];
  for (const group of GROUPS) {
    const applied = await lastApplied(database, group);
    if (applied === null) continue;
    const isLeft = ({ number }: Migration): boolean => number > Math.max(applied, dueMigrations(group, false).length);
    deferred.push(...MIGRATIONS[group].filter(isLeft).map(nameIn(group)));
  }
  return deferred;
}

/** The migrations that run by themselves: without the deferred ones at the end, unless these are included. */
function dueMigrations(group: TableGroup, includesDeferred: boolean): readonly Migration[] {
  const migrations = MIGRATIONS[group];
  if (includesDeferred) return migrations;
  return migrations.slice(0, migrations.findLastIndex(({ isDeferred }) => isDeferred !== true) + 1);
}

const nameIn =
  (group: TableGroup) =>
  ({ number, name }: Migration): string =>
    `${group} ${number}: ${name}`;

/**
 * Runs the migrations that are pending, each in a transaction with its own row of the ledger; on an empty database
 * those of a group in one. If the process is killed, the next run continues after the last that is complete.
 * Two processes that migrate at once converge: the second waits for the first, and finds
 * nothing left to do.
 *
 * @returns the names of those that ran.
 * @throws SchemaVersionError where a newer version of the service has migrated it.
 * @throws ImportLockedError if an import runs for over a minute.
 */
export async function migrate(database: Database, clock: Clock, options: MigrateOptions = {}): Promise<string[]> {
  const { isEmpty, pending } = await readSchemaState(database);
  const isFinished = options.finish !== true || (await readDeferred(database)).length === 0;
  if (pending.length === 0 && isFinished) return [];
  const includesDeferred = isEmpty || options.finish === true;
  // First of all: what is cut off after a step must not look as if older servers worked on it.
  if (!isEmpty) await inTransaction(database, (transaction) => noteOldestServed(transaction, includesDeferred));
  const ran: string[] = [];
  for (const group of GROUPS) {
    const due = dueMigrations(group, includesDeferred);
    let isDone = false;
    while (!isDone) {
      const lastBefore = await lastApplied(database, group);
      isDone = await inTransaction(database, async (transaction) => {
        // A running import is waited for here, since the locks of a table are waited for two seconds only.
        if (group === 'catalog' && lastBefore !== null && lastBefore < due.length)
          await lockCatalog(transaction, options);
        await lockLedger(transaction, group, lastBefore !== null);
        const applied = await lastApplied(transaction, group);
        // A new group is made as a whole: half of one could not be told from a database that lost the rest.
        const steps = due.slice(applied ?? 0, applied === null ? undefined : applied + 1);
        for (const migration of steps) {
          await runMigration(transaction, group, migration, clock, options);
          ran.push(nameIn(group)(migration));
        }
        if ((applied ?? 0) + steps.length < due.length) return false;
        // `access` comes last, and holds the trail.
        if (group === 'access') await completeMigration(transaction, clock, ran, includesDeferred);
        return true;
      });
    }
  }
  return ran;
}

async function runMigration(
  transaction: Database,
  group: TableGroup,
  migration: Migration,
  clock: Clock,
  { onProgress = () => undefined }: MigrateOptions,
): Promise<void> {
  const { kysely, engine } = transaction;
  const { number, name } = migration;
  await kysely
    .insertInto(`${group}.migrations`)
    .values({ number, name, applied_at: formatInstant(clock()) })
    .execute();
  for (const statement of migration.statements?.(engine) ?? []) await sql.raw(statement).execute(kysely);
  if (migration.run === undefined) return;
  // It changes rows, which only imports change too: a wait for an index or an autovacuum must not undo hours of work.
  if (engine === 'postgres') await sql`set local lock_timeout = 0`.execute(kysely);
  await migration.run(transaction, onProgress);
}

async function completeMigration(
  transaction: Database,
  clock: Clock,
  ran: readonly string[],
  includesDeferred: boolean,
): Promise<void> {
  await noteOldestServed(transaction, includesDeferred);
  if ((await readRecordedHistory(transaction)) === null) await recordHistory(transaction);
  if (ran.length > 0) await recordChange(transaction, clock, { action: 'migrate', details: { migrations: [...ran] } });
}

/** The setting that names the oldest schema of a group whose servers work on the one that is there. */
const oldestServedName = (group: TableGroup): string => `oldest_served_${group}`;

/** Where it is missing, older servers refuse the database, which is the safe side. */
async function noteOldestServed(database: Database, includesDeferred: boolean): Promise<void> {
  for (const group of GROUPS) {
    const last = Math.max((await lastApplied(database, group)) ?? 0, dueMigrations(group, includesDeferred).length);
    const steps = MIGRATIONS[group].slice(0, last);
    const oldest = steps.findLast((migration) => migration.isAdditive !== true)?.number ?? 1;
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
  options: MigrateOptions = {},
): Promise<string[]> {
  const { isEmpty, pending } = await readSchemaState(database, use);
  if (pending.length === 0) return [];
  if (database.engine === 'postgres' && !isEmpty) {
    throw new SchemaVersionError(
      `the PostgreSQL schema is older than this version of the service (pending: ${pending.join(', ')}): run "pds migrate"`,
    );
  }
  return migrate(database, clock, options);
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
