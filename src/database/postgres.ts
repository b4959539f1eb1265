import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { OpenDatabase } from './database.ts';
import type { Tables } from './tables.ts';

const CONNECTION_TIMEOUT_MS = 2_000;

/**
 * Both bounds on a query of the server are needed: PostgreSQL's own does not end a wait on a
 * connection that went silent, and the client's leaves the query running on the server.
 */
const SERVE_STATEMENT_TIMEOUT_MS = 5_000;
const SERVE_QUERY_TIMEOUT_MS = 6_000;

const POOL_SIZE = { serve: 10, command: 2 };

const INT8: number = pg.types.builtins.INT8;

/**
 * Opens a pool of connections to a PostgreSQL database. Connections are made when first
 * needed, so that this never fails.
 */
export function openPostgres(url: string, use: 'serve' | 'command'): OpenDatabase {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: `pds ${use}`,
    max: POOL_SIZE[use],
    connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
    ...(use === 'serve' && {
      statement_timeout: SERVE_STATEMENT_TIMEOUT_MS,
      query_timeout: SERVE_QUERY_TIMEOUT_MS,
    }),
    types: {
      // Whole numbers here stay below 2^53: `ref` is checked at import, all others count rows.
      getTypeParser: (oid, format) =>
        (oid as number) === INT8 ? Number : (pg.types.getTypeParser(oid, format) as (text: string) => unknown),
    },
  });
  // Without these listeners a connection that loses its server ends the process; the query in flight fails by itself.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  let closed = false;
  return {
    engine: 'postgres',
    kysely,
    close: async () => {
      if (closed) return;
      closed = true;
      await kysely.destroy();
      if (!pool.ended) await pool.end();
    },
  };
}
