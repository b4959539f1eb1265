import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import type { DatabaseConfig } from '../../src/config.ts';
import type { Engine, OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { recordTimeline } from '../../src/database/postgres/timeline.ts';
import { databaseUrlOf } from '../commands/run-pds.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { forAllTests, forEachTest } from './lifetimes.ts';
import { databaseUrl, TEMPLATE_DATABASE } from './postgres.ts';

/** A test's own database. The caller must drop it, for example by `await using`. */
export interface TestDatabase extends AsyncDisposable {
  readonly config: DatabaseConfig;
  /** Environment variables for a command on it. */
  readonly settings: { readonly PDS_DATABASE_URL: string };
  /** Opened for commands, that is, for writing. */
  readonly database: OpenDatabase;
  /** Closes the database, terminates all other connections to it, and removes it. Idempotent. */
  drop(): Promise<void>;
}

/** A new, migrated database of this project's engine. */
export function createTestDatabase(): Promise<TestDatabase> {
  return createDatabaseOf(inject('engine'));
}

/** A new, migrated database before each test, dropped afterwards. */
export const databaseForEachTest = (): TestDatabase => forEachTest(createTestDatabase);

/** A new, migrated database for all tests of the file or `describe`. */
export const databaseForAllTests = (): TestDatabase => forAllTests(createTestDatabase);

/** A new, migrated database of the given engine; PostgreSQL only in the project `postgres`. */
export async function createDatabaseOf(engine: Engine): Promise<TestDatabase> {
  const made = await createEmptyDatabase(engine, TEMPLATE_DATABASE);
  if (engine === 'sqlite') await migrate(made.database, Date.now);
  // Copies share the template's secret; a real database has its own.
  const secret = randomBytes(32).toString('hex');
  await made.database.kysely
    .updateTable('access.settings')
    .set({ value: secret })
    .where('name', '=', 'cursor_secret')
    .execute();
  // To the service a copy looks like a restored database: it must start its own timeline.
  await recordTimeline(made.database);
  return made;
}

/** The path of a SQLite database. */
export function databasePathOf({ config }: TestDatabase): string {
  if (config.engine !== 'sqlite') throw new Error('not SQLite');
  return config.path;
}

/** A new database of this project's engine, without tables. */
export function createEmptyDatabase(engine = inject('engine'), template = 'template1'): Promise<TestDatabase> {
  return engine === 'sqlite' ? createSqlite() : createPostgres(template);
}

async function createSqlite(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'pds-test-'));
  const config: DatabaseConfig = { engine: 'sqlite', path: join(folder, 'pds.sqlite') };
  const database = openForCommands(config);
  const drop = async (): Promise<void> => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { config, settings: settingsOf(config), database, drop, [Symbol.asyncDispose]: drop };
}

async function createPostgres(template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer(`create database ${name} template ${template}`);
  const config: DatabaseConfig = { engine: 'postgres', url: databaseUrl(inject('postgresUrl'), name) };
  const database = openForCommands(config);
  const drop = async (): Promise<void> => {
    await database.close();
    await onServer(`drop database if exists ${name} with (force)`);
  };
  return { config, settings: settingsOf(config), database, drop, [Symbol.asyncDispose]: drop };
}

const settingsOf = (config: DatabaseConfig) => ({ PDS_DATABASE_URL: databaseUrlOf(config) });

let server: pg.Pool | undefined;

/**
 * Runs a statement on this run's server, in its database `postgres`. A process keeps its connection, since to begin one
 * costs as much as to create a database, and ends without closing it.
 */
export async function onServer(statement: string): Promise<void> {
  server ??= new pg.Pool({
    connectionString: inject('postgresUrl'),
    max: 1,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
  }).on('error', () => undefined);
  await server.query(statement);
}
