import { pipeline } from 'node:stream/promises';
import { sql, type Kysely, type PostgresPool } from 'kysely';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { CopyRows } from '../database.ts';
import { encodeCopy, type CopyColumn } from './postgres-copy-format.ts';
import type { Tables } from '../tables.ts';

type PoolConnection = Awaited<ReturnType<PostgresPool['connect']>>;

/** The only parameter of a COPY statement: the data that the client sends after it. */
class CopyData {
  readonly chunks: Iterable<Buffer>;

  constructor(chunks: Iterable<Buffer>) {
    this.chunks = chunks;
  }
}

/** A pool for Kysely whose connections also run a COPY statement with `CopyData`. */
export function poolWithCopy(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: async () => {
      const client = await pool.connect();
      const query = async (text: string, parameters: readonly unknown[] = []) => {
        const [data] = parameters;
        if (!(data instanceof CopyData)) return client.query(text, [...parameters]);
        const copy = client.query(copyFrom(text));
        await pipeline(data.chunks, copy);
        return { command: 'COPY', rowCount: copy.rowCount, rows: [] };
      };
      const release = (destroy?: boolean): void => client.release(destroy);
      // Kysely's other form of `query` takes a cursor, which needs an option that is not set.
      return { query, release } as unknown as PoolConnection;
    },
  };
}

/**
 * Creates `copyRows` for a database whose pool is `poolWithCopy`.
 *
 * Uses the binary format, which needs no escaping. Measured against the text format on rows of solicitations and of
 * bitmaps, it takes 15% and 40% less time, and 20% and 45% less of the server's. It needs the column types, which are
 * read once per table and transaction.
 */
export function copyIntoPostgres(): CopyRows {
  const typesOf = new WeakMap<Kysely<Tables>, Map<string, ReadonlyMap<string, string>>>();
  return async (kysely, table, names, rows) => {
    const tables = typesOf.get(kysely) ?? new Map<string, ReadonlyMap<string, string>>();
    typesOf.set(kysely, tables);
    const types = tables.get(table) ?? (await readColumnTypes(kysely, table));
    tables.set(table, types);
    const columns: CopyColumn[] = names.map((name) => ({ name: `${table}.${name}`, type: types.get(name) ?? 'none' }));
    const statement = sql`copy ${sql.table(table)} (${sql.join(names.map((name) => sql.ref(name)))})
      from stdin (format binary)`.compile(kysely);
    await kysely.executeQuery({ ...statement, parameters: [new CopyData(encodeCopy(columns, rows))] });
  };
}

async function readColumnTypes(kysely: Kysely<Tables>, table: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ name: string; type: string }>`
    select attname as name, typname as type
    from pg_catalog.pg_attribute join pg_catalog.pg_type on pg_type.oid = atttypid
    where attrelid = ${table}::regclass and attnum > 0`.execute(kysely);
  return new Map(rows.map(({ name, type }) => [name, type]));
}
