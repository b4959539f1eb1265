import type { DatabaseSync } from 'node:sqlite';
import type { TableGroup } from '../database/migrations/migration.ts';
import { MIGRATIONS } from '../database/migrations/migrations.ts';
import { ledgerStatement } from '../database/migrations/migrator.ts';
import { SqliteConnection } from '../database/sqlite/sqlite-files.ts';
import { OperatorError } from '../operator-error.ts';
import { printable } from '../printable.ts';

/** A row of `sqlite_schema`; `sql` is null for indexes that SQLite creates for unique columns. */
interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly sql: string | null;
}

/** Tables created by `analyze`. */
const STATISTICS = /^sqlite_stat\d$/;

/**
 * Drops every trigger, view, table and index in a backup file that the migrations do not create. A planted trigger or
 * view would run with the next write or read.
 *
 * @returns the dropped objects, as `access trigger forge_keys`.
 * @throws OperatorError if one of the service's tables or indexes is missing or has another definition. It cannot be
 *   dropped without its data, and an expression in it would also run.
 */
export function removeForeignSchema(path: string, group: TableGroup): string[] {
  using file = new SqliteConnection(path);
  try {
    file.exec('pragma trusted_schema = off; pragma foreign_keys = off');
    const found = readSchema(file, 'main');
    // Done first, so that nothing below runs them.
    const programs = found.filter(({ type }) => type === 'trigger' || type === 'view');
    programs.forEach((object) => dropObject(file, object));
    const expected = readMigratedSchema(group, readLastMigration(file));
    refuseChanged(found, expected);
    const unknown = found.filter((object) => !programs.includes(object) && !expected.has(keyOf(object)));
    const foreign = unknown.filter(({ name }) => !STATISTICS.test(name));
    foreign.forEach((object) => dropObject(file, object));
    return [...programs, ...foreign].map((object) => printable(`${group} ${keyOf(object)}`));
  } catch (error) {
    const reason = printable(error instanceof Error ? error.message : String(error));
    throw new OperatorError(
      `the backup's ${group} is not what "pds backup" created (${reason}): restore another backup. Nothing was replaced`,
      { cause: error },
    );
  }
}

function refuseChanged(found: readonly SchemaObject[], expected: ReadonlyMap<string, string | null>): void {
  const definitions = new Map(found.map((object) => [keyOf(object), object.sql]));
  for (const [key, sql] of expected) {
    if (!definitions.has(key)) throw new Error(`it has no ${key}`);
    if (definitions.get(key) !== sql) throw new Error(`its ${key} has another definition`);
  }
}

/** The schema after a group's migrations up to `lastNumber`. */
function readMigratedSchema(group: TableGroup, lastNumber: number): Map<string, string | null> {
  using model = new SqliteConnection(':memory:');
  model.exec(`attach ':memory:' as ${group}`);
  model.exec(ledgerStatement(group));
  for (const migration of MIGRATIONS[group].filter(({ number }) => number <= lastNumber)) {
    for (const statement of migration.statements?.('sqlite') ?? []) model.exec(statement);
  }
  return new Map(readSchema(model, group).map((object) => [keyOf(object), object.sql]));
}

function readSchema(connection: DatabaseSync, schema: string): SchemaObject[] {
  const rows = connection.prepare(`select type, name, sql from ${schema}.sqlite_schema`).all();
  return rows.map(({ type, name, sql }) => ({
    ...{ type: String(type), name: String(name) },
    // Whitespace does not matter.
    sql: sql === null ? null : String(sql).replaceAll(/\s+/g, ' '),
  }));
}

function readLastMigration(connection: DatabaseSync): number {
  const number = Number(connection.prepare('select max(number) as number from migrations').get()?.['number']);
  // Otherwise every table would count as foreign.
  if (number < 1) throw new Error('it lists no migration');
  return number;
}

const keyOf = ({ type, name }: SchemaObject): string => `${type} ${name}`;

function dropObject(connection: DatabaseSync, { type, name }: SchemaObject): void {
  // It may have been dropped with its table.
  connection.exec(`drop ${type} if exists "${name.replaceAll('"', '""')}"`);
}
