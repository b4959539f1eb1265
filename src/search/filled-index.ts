import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { SearchedTable } from './search-index.ts';

/*
 * PostgreSQL's first filling of a search index. Word by word, an index of a hundred thousand
 * entries takes three times as long to fill as to make when all entries are there, and four times
 * the room. So they are gathered in a table of their own, which gets its index at the end and
 * takes the place of the empty one.
 */

/** The table in which entries are gathered until then. */
export function fillingTable(table: SearchedTable): string {
  return `${table}_search_filling`;
}

/**
 * Makes the table in which entries are gathered, with those that are there.
 *
 * @returns false where this role may not: tables are for their owner to replace.
 */
export async function beginFilling({ kysely }: Database, table: SearchedTable): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select pg_has_role(relowner, 'USAGE') and has_schema_privilege(relnamespace, 'CREATE') as may
    from pg_catalog.pg_class where oid = ${`catalog.${table}_search`}::regclass`.execute(kysely);
  if (rows[0]?.may !== true) return false;
  const filling = sql.table(`catalog.${fillingTable(table)}`);
  await sql`create table ${filling} (like ${sql.table(`catalog.${table}_search`)} including defaults)`.execute(kysely);
  await sql`insert into ${filling} select * from ${sql.table(`catalog.${table}_search`)}`.execute(kysely);
  return true;
}

/** Makes the indexes. Readers notice nothing yet. */
export async function indexFilling({ kysely }: Database, table: SearchedTable): Promise<void> {
  const filling = fillingTable(table);
  await sql`alter table ${sql.table(`catalog.${filling}`)} alter column words set statistics 1000`.execute(kysely);
  await sql`alter table ${sql.table(`catalog.${filling}`)}
    add constraint ${sql.ref(`${filling}_pkey`)} primary key (number)`.execute(kysely);
  await sql`create index ${sql.ref(`${filling}_by_words`)} on ${sql.table(`catalog.${filling}`)}
    using gin (words)`.execute(kysely);
}

/** Puts the filled table in the place of the other. From here to the end of the transaction, searches wait. */
export async function replaceByFilled({ kysely }: Database, table: SearchedTable): Promise<void> {
  const name = `${table}_search`;
  const filling = fillingTable(table);
  const { rows: grants } = await sql<{ statement: string }>`
    select format('grant %s on catalog.%I to %s', privilege_type, ${filling}::text,
      case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end) as statement
    from pg_catalog.pg_class, aclexplode(relacl) where oid = ${`catalog.${name}`}::regclass`.execute(kysely);
  for (const { statement } of grants) await sql.raw(statement).execute(kysely);
  for (const statement of [
    `drop table catalog.${name}`,
    `alter table catalog.${filling} rename to ${name}`,
    `alter index catalog.${filling}_pkey rename to ${name}_pkey`,
    `alter index catalog.${filling}_by_words rename to ${name}_by_words`,
  ]) {
    await sql.raw(statement).execute(kysely);
  }
}
