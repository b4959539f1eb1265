import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { changeCatalog } from '../catalog-change.ts';
import { endWithClient, lockCatalog, lockFiles, type WorkHooks } from '../catalog-lock.ts';
import { formatTimestamp, type Clock } from '../../timestamp.ts';
import { writeAuditEntry } from '../audit.ts';
import { inTransaction, type Database, type OpenDatabase, SchemaVersionError } from '../database.ts';
import { findLastRelease } from '../event-log.ts';
import { readRecordedTimeline, recordTimeline } from '../postgres/timeline.ts';
import { readStoredSetting, storeSetting } from '../rows.ts';
import { readValue } from '../statement.ts';
import { ledgerStatement, type TableGroup } from './schema.ts';
import { OLDEST_VERSION, SCHEMAS } from './schemas.ts';

const GROUPS: readonly TableGroup[] = ['catalog', 'access'];

/** An upgrade begins with `access`, since its log then names SQLite's upgraded catalog: each step writes one file. */
const inOrder = (isEmpty: boolean): readonly TableGroup[] => (isEmpty ? GROUPS : GROUPS.toReversed());

// An arbitrary number that nothing else on the server uses: the ASCII codes of "pds" and a counter.
const MIGRATION_LOCK = 0x70647301;

interface SchemaState {
  /** The first migration has not completed. */
  isEmpty: boolean;
  /** Names of the migrations still to run, in order. */
  pending: string[];
}

export interface MigrateOptions extends Pick<WorkHooks, 'onProgress' | 'onWaiting'> {
  /** Awaited before an upgrade, possibly in several processes. Without it, `prepareSchema` upgrades nothing. */
  readonly beforeUpgrade?: () => Promise<void>;
}

/** Upgrades begin with the migration: servers accept a newer schema that they can read, commands none. */
type SchemaUse = 'serve' | 'command';

/**
 * Compares the database with this version's migrations.
 *
 * @throws SchemaVersionError if its schema cannot be used or upgraded, or belongs to another service, or a part is lost.
 */
export async function readSchemaState(database: Database, use: SchemaUse = 'command'): Promise<SchemaState> {
  const pending: string[] = [];
  // `access` is created last: without it, a first migration was interrupted or is running in another process.
  const isEmpty = (await lastApplied(database, 'access')) === null;
  for (const group of inOrder(isEmpty)) {
    const applied = await lastApplied(database, group);
    const { number, upgrade } = SCHEMAS[group];
    if (applied === number) continue;
    if (applied !== null && applied > number) {
      if (use === 'serve' && (await oldestServed(database, group)) <= number) continue;
      throw new SchemaVersionError(
        `the database's ${group} schema is at ${applied}, and this version of the service supports only ${number}: ` +
          'start the version that migrated it, or a newer one',
      );
    }
    if (applied !== null && applied !== upgrade?.from) {
      throw new SchemaVersionError(
        `the database's ${group} schema is at ${applied}, which is older than version ${OLDEST_VERSION}: run "pds migrate" ` +
          `with version ${OLDEST_VERSION} first. Nothing was changed`,
      );
    }
    pending.push(migrationName(group, applied));
  }
  await refuseHalfLost(database);
  return { isEmpty, pending };
}

/** @param applied the number in the ledger; null for an empty database. */
function migrationName(group: TableGroup, applied: number | null): string {
  return `${group} ${SCHEMAS[group].number}: ${stepName(group, applied)}`;
}

function stepName(group: TableGroup, applied: number | null): string {
  const { name, upgrade } = SCHEMAS[group];
  return applied === null ? name : (upgrade?.name ?? name);
}

/** Whether these migrations, by their names, created the tables of an empty database. */
export function haveCreated(migrations: readonly string[]): boolean {
  return migrations.includes(migrationName('access', null));
}

/**
 * Creates or upgrades each group of tables in one transaction, with its row in the ledger. After a kill, the next run
 * continues after the last complete group. Of concurrent runs, the second waits and finds nothing left to do.
 *
 * @returns the names of the migrations that ran.
 * @throws SchemaVersionError as `readSchemaState`.
 * @throws OperatorError if a running import holds the lock for over a minute.
 */
export async function migrate(database: OpenDatabase, clock: Clock, options: MigrateOptions = {}): Promise<string[]> {
  const { isEmpty, pending } = await readSchemaState(database);
  if (pending.length === 0) return [];
  // Done first: after an interrupted step, older servers must not take the schema for one they can use.
  if (!isEmpty) await inTransaction(database, noteOldestServed);
  const ran: string[] = [];
  // Without a lock: it waits for a running import of SQLite, which must be able to write to `access` meanwhile.
  if (!isEmpty) await options.beforeUpgrade?.();
  for (const group of inOrder(isEmpty)) {
    const { catalogFiles } = database;
    if (group === 'catalog' && (await isPublished(database, isEmpty))) {
      ran.push(...(await upgradeCatalog(database, clock, options)));
      continue;
    }
    const before = await lastApplied(database, group);
    using _lock = isEmpty || catalogFiles === undefined ? null : await lockFiles(catalogFiles, options);
    await inTransaction(database, async (transaction) => {
      // Wait for a running import here: the `lock_timeout` on tables is only two seconds.
      if (!isEmpty) await lockCatalog(transaction, options);
      await lockLedger(transaction, group, before !== null);
      const applied = await lastApplied(transaction, group);
      if (applied !== SCHEMAS[group].number) {
        await runMigration(transaction, group, applied, clock, options);
        ran.push(migrationName(group, applied));
      }
      // `access` holds the audit trail. Of an upgrade, the entry also has the step that follows.
      if (group === 'access') await completeMigration(transaction, clock, isEmpty || ran.length === 0 ? ran : pending);
    });
  }
  return ran;
}

/** Whether the catalog can be changed by a release only. Before the first one, SQLite's is in memory. */
async function isPublished(database: Database, isEmpty: boolean): Promise<boolean> {
  const { engine, catalogFiles } = database;
  if (engine === 'postgres') return !isEmpty && (await findLastRelease(database)) !== null;
  // One that is being restored has no files yet, and is published as a whole.
  return catalogFiles !== undefined && catalogFiles.attachCurrent() !== null;
}

/** Upgrades the catalog, on SQLite a copy of it, and publishes it as a release that changes no record. */
async function upgradeCatalog(database: OpenDatabase, clock: Clock, options: MigrateOptions): Promise<string[]> {
  if ((await lastApplied(database, 'catalog')) === SCHEMAS.catalog.number) return [];
  const { result } = await changeCatalog(database, { clock, ...options }, async (draft) => {
    const ran = await upgradeDraft(draft, clock, options);
    // Another process can have done it meanwhile.
    return { result: ran, event: ran.length === 0 ? null : { what: 'release', complete: async () => undefined } };
  });
  return result;
}

/** Upgrades a draft. Returns the migration that ran, if there was one. @throws SchemaVersionError if it cannot. */
export async function upgradeDraft(draft: Database, clock: Clock, options: MigrateOptions = {}): Promise<string[]> {
  const applied = await lastApplied(draft, 'catalog');
  const { number, upgrade } = SCHEMAS.catalog;
  if (applied === number) return [];
  if (applied === null || applied !== upgrade?.from) {
    throw new SchemaVersionError(
      `the catalog's schema is at ${applied ?? 'none'}, and this version of the service supports only ${number}. ` +
        'Nothing was changed',
    );
  }
  await lockLedger(draft, 'catalog', true);
  await runMigration(draft, 'catalog', applied, clock, options);
  return [migrationName('catalog', applied)];
}

async function runMigration(
  transaction: Database,
  group: TableGroup,
  applied: number | null,
  clock: Clock,
  { onProgress = () => undefined }: MigrateOptions,
): Promise<void> {
  const { kysely, engine } = transaction;
  const { number, create, upgrade } = SCHEMAS[group];
  await sql`insert into ${sql.table(`${group}.migrations`)} (number, name, applied_at)
    values (${number}, ${stepName(group, applied)}, ${formatTimestamp(clock())})`.execute(kysely);
  const run = async (statement: string): Promise<unknown> => sql.raw(statement).execute(kysely);
  if (applied === null) {
    for (const statement of create(engine)) await run(statement);
    return;
  }
  const statements = upgrade?.statements(engine) ?? [];
  for (const [done, statement] of statements.entries()) {
    onProgress({ done, total: statements.length, what: 'Upgrading the tables' });
    // SQLite's statements resolve in microtasks, during which no signal is handled.
    await setImmediate();
    await run(statement);
  }
}

async function completeMigration(transaction: Database, clock: Clock, migrations: readonly string[]): Promise<void> {
  await noteOldestServed(transaction);
  if ((await readRecordedTimeline(transaction)) === null) await recordTimeline(transaction);
  if (migrations.length > 0) await writeAuditEntry(transaction, clock, { action: 'migrate', details: { migrations } });
}

const oldestServedName = (group: TableGroup): string => `oldest_served_${group}`;

/** Records which older servers can use the schema. Without the setting they refuse the database, which is safe. */
async function noteOldestServed(database: Database): Promise<void> {
  for (const group of GROUPS) {
    await storeSetting(database, oldestServedName(group), String(SCHEMAS[group].oldestServed));
  }
}

async function oldestServed(database: Database, group: TableGroup): Promise<number> {
  return Number((await readStoredSetting(database, oldestServedName(group))) ?? Infinity);
}

/**
 * Prepares the schema for a command or server: migrates an empty database and, with `beforeUpgrade`, an older SQLite
 * file. On PostgreSQL other servers may be using an older schema.
 *
 * @returns the names of the migrations that ran.
 * @throws SchemaVersionError as `readSchemaState`, or if `pds migrate` must be run, or a record has the id `count`.
 */
export async function prepareSchema(
  database: OpenDatabase,
  clock: Clock,
  use: SchemaUse = 'command',
  options: MigrateOptions = {},
): Promise<string[]> {
  const state = await readSchemaState(database, use);
  // A start is part of every upgrade, also of one that changes no table.
  if (!state.isEmpty && (use === 'serve' || state.pending.length > 0)) await refuseCountIds(database);
  if (state.pending.length === 0) return [];
  if (database.engine === 'postgres' || options.beforeUpgrade === undefined) refuseOlder(state);
  return migrate(database, clock, options);
}

/** @throws SchemaVersionError if a record has the id `count`, whose path is that of a number. Version 2.0 accepted it. */
export async function refuseCountIds({ kysely }: Database): Promise<void> {
  const { rows } = await sql<{ kind: string }>`select 'contract' as kind from catalog.contracts where id = 'count'
    union all select 'supplier' from catalog.suppliers where id = 'count'`.execute(kysely);
  if (rows.length === 0) return;
  throw new SchemaVersionError(
    `a ${rows.map(({ kind }) => kind).join(' and a ')} has the id "count", which is the path of a count since version ` +
      '2.1: with the version before, import it under another id or remove it, and then upgrade. Nothing was changed',
  );
}

/** How to upgrade an older schema, for operators. */
export function describeUpgrade({ engine }: Database): string {
  return engine === 'postgres'
    ? 'Run "pds migrate" as the owner of the tables, and "pds roles" again if you use it.'
    : 'Run "pds migrate", which makes a backup first; so do "pds import" and a start. Other commands refuse it.';
}

/** @throws SchemaVersionError if the schema is of an older version. */
export function refuseOlder({ isEmpty, pending }: SchemaState): void {
  if (isEmpty || pending.length === 0) return;
  throw new SchemaVersionError(
    `the database's schema is older than this version of the service (pending: ${pending.join(', ')}). Nothing was ` +
      'changed; run "pds migrate" first',
  );
}

/** Refuses a database that has lost one group of tables: the first migration would fill it again, and hide the loss. */
async function refuseHalfLost(database: Database): Promise<void> {
  const lost = (await findLost(database)) && (await findLost(database));
  // Checked twice: a first migration may have completed between the reads.
  if (lost === null) return;
  throw new SchemaVersionError(`the database has lost ${lost}: restore all of it from a backup. Nothing was changed`);
}

async function findLost(database: Database): Promise<string | null> {
  const catalog = await lastApplied(database, 'catalog');
  const access = await lastApplied(database, 'access');
  if (catalog === null && access !== null) return 'its catalog, the published records';
  if (catalog === null || access !== null) return null;
  // `access` is created last: without a release, this can be an interrupted first migration.
  const { rows } = await sql`select number from catalog.releases limit 1`.execute(database.kysely);
  return rows.length > 0 ? 'its access, the partners and keys' : null;
}

/** The number of the newest migration that ran; null before the first. */
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
      `the ${group} of the database holds another service's tables: check PDS_DATABASE_URL. Nothing was changed`,
    );
  }
  return readValue(database, sql`select max(number) as value from ${sql.table(`${group}.migrations`)}`);
}

/**
 * Waits until no other process migrates this group, and creates the ledger if it is missing.
 *
 * @param hasLedger as seen before the transaction: SQLite waits for a lock only if the first statement writes.
 */
async function lockLedger(transaction: Database, group: TableGroup, hasLedger: boolean): Promise<void> {
  if (transaction.engine === 'postgres') {
    // "create schema if not exists" takes no lock: two concurrent runs collide in the system catalog.
    await endWithClient(transaction);
    await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK}::bigint)`.execute(transaction.kysely);
    // While a migration waits for a table that pg_dump has locked, every service would queue behind it.
    await sql`set local lock_timeout = '2s'`.execute(transaction.kysely);
    await sql.raw(`create schema if not exists ${group}`).execute(transaction.kysely);
  }
  if (!hasLedger) await sql.raw(ledgerStatement(group)).execute(transaction.kysely);
  if (transaction.engine === 'sqlite') {
    // Takes the file's write lock even if the table existed.
    await sql.raw(`update ${group}.migrations set number = number where false`).execute(transaction.kysely);
  }
}
