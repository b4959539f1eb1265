import type { DatabaseSync } from 'node:sqlite';
import { ledgerStatement, SCHEMAS } from '../database/migrations/migrator.ts';
import type { TableGroup } from '../database/migrations/schema.ts';
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
 * Drops every trigger and view in a backup file, since the service has none: a planted one would run with the next write
 * or read.
 *
 * @returns the dropped objects, as `access trigger forge_keys`.
 * @throws OperatorError if the file cannot be read.
 */
export function removePrograms(path: string, group: TableGroup): string[] {
  return inBackup(path, group, (file) => {
    // Otherwise the first migration would fail on its tables.
    if (file.prepare('select 1 from migrations limit 1').get() === undefined) throw new Error('it lists no migration');
    return dropObjects(
      file,
      readSchema(file, 'main').filter(({ type }) => type === 'trigger' || type === 'view'),
    );
  });
}

/**
 * Drops every table and index in a backup file that this version does not create. Call it after `removePrograms` and the
 * migration to this version.
 *
 * @returns the dropped objects.
 * @throws OperatorError if one of the service's tables or indexes is missing or has another definition. It cannot be
 *   dropped without its data, and an expression in it would also run.
 */
export function removeForeignSchema(path: string, group: TableGroup): string[] {
  return inBackup(path, group, (file) => {
    const found = readSchema(file, 'main');
    const expected = readExpectedSchema(group);
    refuseChanged(found, expected);
    const unknown = found.filter((object) => !expected.has(keyOf(object)));
    return dropObjects(
      file,
      unknown.filter(({ name }) => !STATISTICS.test(name)),
    );
  });
}

function inBackup(path: string, group: TableGroup, drop: (file: DatabaseSync) => SchemaObject[]): string[] {
  using file = new SqliteConnection(path);
  try {
    file.exec('pragma trusted_schema = off; pragma foreign_keys = off');
    return drop(file).map((object) => printable(`${group} ${keyOf(object)}`));
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

/** The schema that this version creates. */
function readExpectedSchema(group: TableGroup): Map<string, string | null> {
  using model = new SqliteConnection(':memory:');
  model.exec(`attach ':memory:' as ${group}`);
  for (const statement of [ledgerStatement(group), ...SCHEMAS[group].create('sqlite')]) model.exec(statement);
  return new Map(readSchema(model, group).map((object) => [keyOf(object), object.sql]));
}

function readSchema(connection: DatabaseSync, schema: string): SchemaObject[] {
  const rows = connection.prepare(`select type, name, sql from ${schema}.sqlite_schema`).all();
  return rows.map(({ type, name, sql }) => ({
    type: String(type),
    name: String(name),
    // Whitespace does not matter.
    sql: sql === null ? null : String(sql).replaceAll(/\s*([(),])\s*|\s+/g, (_, mark?: string) => mark ?? ' '),
  }));
}

const keyOf = ({ type, name }: SchemaObject): string => `${type} ${name}`;

function dropObjects(connection: DatabaseSync, objects: SchemaObject[]): SchemaObject[] {
  for (const { type, name } of objects) {
    // It may have been dropped with its table.
    connection.exec(`drop ${type} if exists "${name.replaceAll('"', '""')}"`);
  }
  return objects;
}
