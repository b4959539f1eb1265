import { Kysely, PostgresDialect, type RawBuilder } from 'kysely';
import pg from 'pg';
import type { OpenDatabase } from './database.ts';
import { bindSlots, StatementCache, type SlotValues } from './statement.ts';
import type { Tables } from './tables.ts';

const CONNECTION_TIMEOUT_MS = 2_000;

/**
 * Both bounds on a query of the server are needed: PostgreSQL's own does not end a wait on a
 * connection that went silent, and the client's leaves the query running on the server.
 */
const SERVE_STATEMENT_TIMEOUT_MS = 5_000;
const SERVE_QUERY_TIMEOUT_MS = 6_000;

/**
 * A statement keeps one plan, made without its values: they are built so that the same walk is
 * right for all of them, and planning costs more than running. Compiling would cost more yet.
 * What is gathered of frequent words has to be looked at twice where it does not fit into memory.
 */
const SERVE_OPTIONS = '-c plan_cache_mode=force_generic_plan -c jit=off -c work_mem=16MB';

const POOL_SIZE = { serve: 10, command: 2 };

/** A new connection has to learn every statement again, which takes longer than answering. */
const IDLE_CONNECTION_MS = 300_000;

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
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    ...(use === 'serve' && {
      statement_timeout: SERVE_STATEMENT_TIMEOUT_MS,
      query_timeout: SERVE_QUERY_TIMEOUT_MS,
      options: SERVE_OPTIONS,
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
  const statements = new StatementCache();
  let closed = false;
  return {
    engine: 'postgres',
    kysely,
    run: async <Row>(shape: string, build: () => RawBuilder<Row>, values: SlotValues) => {
      const statement = statements.get(kysely, shape, build);
      const { name, text } = statement;
      const { rows } = await pool.query({ name, text, values: bindSlots('postgres', statement, values) });
      return rows as Row[];
    },
    close: async () => {
      if (closed) return;
      closed = true;
      await kysely.destroy();
      if (!pool.ended) await pool.end();
    },
  };
}
