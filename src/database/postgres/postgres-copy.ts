import { pipeline } from 'node:stream/promises';
import { sql, type PostgresPool } from 'kysely';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { CopyRows } from '../database.ts';

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

/** Characters sent at a time. */
const CHUNK_LENGTH = 64 * 1024;

/**
 * `copyRows` for a database whose pool is `poolWithCopy`. COPY's binary format takes 15 % less time for records and 40 %
 * for bitmaps, but needs the types of the columns and a writer for each.
 */
export const copyIntoPostgres: CopyRows = async (kysely, table, names, rows) => {
  const statement = sql`copy ${sql.table(table)} (${sql.join(names.map((name) => sql.ref(name)))}) from stdin`;
  await kysely.executeQuery({ ...statement.compile(kysely), parameters: [new CopyData(encodeCopy(rows))] });
};

/** Encodes rows in COPY's text format (https://www.postgresql.org/docs/current/sql-copy.html), in chunks of whole rows. */
function* encodeCopy(rows: Iterable<readonly unknown[]>): Generator<Buffer> {
  let lines = '';
  for (const row of rows) {
    lines += `${row.map(encodeValue).join('\t')}\n`;
    if (lines.length < CHUNK_LENGTH) continue;
    yield Buffer.from(lines);
    lines = '';
  }
  if (lines !== '') yield Buffer.from(lines);
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function encodeValue(value: unknown): string {
  if (value === null) return '\\N';
  if (typeof value === 'string') return value.replaceAll(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? character);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  if (value instanceof Uint8Array) {
    return `\\\\x${Buffer.from(value.buffer, value.byteOffset, value.length).toString('hex')}`;
  }
  throw new TypeError(`COPY cannot take a value of type ${typeof value}`);
}
