import { sql } from 'kysely';
import type { Database } from '../../../src/database/database.ts';

/** Every table with its columns, and every index, as the engine describes them. */
export async function readSchemaTexts({ engine, kysely }: Database): Promise<unknown[]> {
  const parts =
    engine === 'sqlite'
      ? ['catalog', 'access'].map((group) =>
          sql.raw(`select type, name, sql from ${group}.sqlite_schema where name not like 'sqlite!_stat%' escape '!'
            order by type, name`),
        )
      : [
          sql`select table_schema, table_name, column_name, data_type, is_nullable, column_default
            from information_schema.columns where table_schema in ('catalog', 'access') order by 1, 2, 3`,
          sql`select indexname, indexdef from pg_indexes where schemaname in ('catalog', 'access') order by 1, 2`,
        ];
  const rows = (await Promise.all(parts.map(async (part) => (await part.execute(kysely)).rows))).flat();
  const space = /(?:\\n|\s)*([(),])(?:\\n|\s)*|(?:\\n|\s)+/g;
  return rows.map((row) => JSON.stringify(row).replaceAll(space, (_, mark?: string) => mark ?? ' '));
}
