import { Kysely, PostgresDialect, sql, type PostgresPool, type RawBuilder } from 'kysely';
import pg from 'pg';
import {
  type OpenDatabase,
  type ParameterValues,
  type ReadSource,
  type TextsQuery,
  DatabaseUnavailableError,
} from '../database.ts';
import { copyIntoPostgres } from './postgres-copy.ts';
import { createPool, runAndRelease, ServerPool } from './server-pool.ts';
import { nameTimedOut } from './postgres-errors.ts';
import { ReadRouter } from './read-router.ts';
import { readRevision } from '../revision.ts';
import { bindParameters, firstRow, StatementCache } from '../statement.ts';
import type { Tables } from '../tables.ts';
import { readFileSync } from 'node:fs';

const COMMAND_CONNECTION_TIMEOUT_MS = 2_000;

/** `statement_timeout` does not end a wait on a silent connection. This does, but leaves the query running on the server. */
const SERVE_QUERY_TIMEOUT_MS = 6_000;

/**
 * Settings of a serving connection. PgBouncer does not pass them on, so there the role must have them.
 *
 * PostgreSQL estimates that a range of terms matches a ninth of the index: with JIT it would compile the statement every
 * time, 470 ms for one that runs in 3 ms. And it would plan the statement of a stream again for each piece, which takes
 * a sixth of the time.
 */
export const SERVING_SETTINGS = { statement_timeout: '5s', jit: 'off', plan_cache_mode: 'force_generic_plan' } as const;

const SERVE_CONNECTIONS = 10;
const COMMAND_CONNECTIONS = 2;

/** Long, since a new connection must prepare every statement again, which takes longer than running it. */
const IDLE_CONNECTION_MS = 300_000;

const LINE_FEED = 10;

const INT8: number = pg.types.builtins.INT8;

const types: pg.CustomTypesConfig = {
  // Integers here stay below 2^53: the import checks `ref`, and all others count rows.
  getTypeParser: (oid, format) =>
    (oid as number) === INT8 ? Number : (pg.types.getTypeParser(oid, format) as (text: string) => unknown),
};

/** Connects on first use, and so does not throw if the server is down. */
export function openPostgresForCommands(url: string): OpenDatabase {
  const { connectionString } = readPostgresUrl(url);
  const pool = createPool({
    connectionString,
    application_name: 'pds command',
    max: COMMAND_CONNECTIONS,
    connectionTimeoutMillis: COMMAND_CONNECTION_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    types,
  });
  const kysely = openKysely(pool);
  const opened = openDatabase(kysely, {
    query: async (statement) => runAndRelease(await pool.connect(), statement),
    readRevision: () => readRevision(kysely),
    bypassReplicas: () => undefined,
    close: async () => {
      if (!pool.ending) await pool.end();
    },
  });
  return { ...opened, copyRows: copyIntoPostgres };
}

/** Connects on first use. `kysely` uses the primary, and `run` reads from the replica if it is current. */
export function openPostgresForServing(url: string, replicaUrl?: string | null): OpenDatabase {
  const primary = openServerPool(url, replicaUrl === undefined ? undefined : refuseStandby);
  const router = new ReadRouter(primary, replicaUrl == null ? null : openServerPool(replicaUrl));
  const pool = { connect: () => primary.connect(), end: () => primary.close(), options: {} };
  return openDatabase(openKysely(pool), router);
}

function openKysely(pool: PostgresPool): Kysely<Tables> {
  return new Kysely({
    dialect: new PostgresDialect({ pool }),
    log: (event) => {
      if (event.level === 'error') nameTimedOut(event.error, event.query.sql);
    },
  });
}

type Verify = pg.PoolConfig['verify'];

/** A proxy can detect a failover late. A primary becomes a standby only by a restart, which ends its connections. */
const refuseStandby: Verify = (client, done) => client.query('begin read write; commit', done);

function openServerPool(url: string, verify?: Verify): ServerPool {
  const { connectionString, isPooled } = readPostgresUrl(url);
  const settings = Object.entries(SERVING_SETTINGS).map(([name, value]) => `-c ${name}=${value}`);
  const config = {
    connectionString,
    application_name: 'pds serve',
    max: SERVE_CONNECTIONS,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    query_timeout: SERVE_QUERY_TIMEOUT_MS,
    ...(!isPooled && { options: settings.join(' ') }),
    verify,
    types,
  };
  return new ServerPool(config, isPooled);
}

/** Some of the texts, in lines; null if there are none. */
interface JoinedTexts {
  readonly part: number | null;
  readonly count: number | null;
  readonly last_key: string | null;
  readonly changes_at: string | null;
  readonly lines: string | null;
}

/**
 * Joins the texts of each part into one row: a row for each text, or one for all, takes a third more CPU time. In the order
 * of a subquery, and without sorting the rows: a sort copies all texts, and keeps the first row until the last is joined.
 */
export function withHead<Row>({ head, texts, parts }: TextsQuery<Row>): RawBuilder<Row & JoinedTexts> {
  const joined = sql`(select count(*) as count, max(key) as last_key, min(changes_at) as changes_at,
    string_agg(text, chr(10)) as lines from (${texts} order by ordinal) as texts) as joined`;
  return parts === undefined
    ? sql`select head.*, null::bigint as part, joined.* from (${head}) as head cross join ${joined}`
    : sql`select head.*, parts.part, joined.* from (${head}) as head
        left join (${parts} as parts (part) cross join lateral ${joined}) on joined.count > 0`;
}

/** Lines as UTF-8. Joining them as a string first would take more of V8's memory, and a tenth more time. */
function encode(texts: readonly string[]): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0));
  let length = 0;
  for (const text of texts) {
    length += bytes.write(text, length);
    bytes[length++] = LINE_FEED;
  }
  return bytes;
}

type Router = Pick<OpenDatabase, 'readRevision' | 'bypassReplicas' | 'servers' | 'close'> & {
  query(statement: pg.QueryConfig, source: ReadSource): Promise<pg.QueryResult>;
};

function openDatabase(kysely: Kysely<Tables>, router: Router): OpenDatabase {
  const statements = new StatementCache();
  const close = async (): Promise<void> => {
    await kysely.destroy();
    await router.close();
  };
  const query = async <Row>(
    statementKey: string,
    build: () => RawBuilder<Row>,
    values: ParameterValues,
    source: ReadSource = 'any',
  ): Promise<Row[]> => {
    const statement = statements.get(kysely, statementKey, build);
    const { name, text } = statement;
    const { rows } = await router.query({ name, text, values: bindParameters('postgres', statement, values) }, source);
    return rows as Row[];
  };
  return {
    engine: 'postgres',
    kysely,
    run: query,
    readTexts: async <Row>(
      statementKey: string,
      build: () => TextsQuery<Row>,
      values: ParameterValues,
      source?: ReadSource,
    ) => {
      const rows = await query(statementKey, () => withHead(build()), values, source);
      // Removed from the result, which V8 can reach for a while: it would copy the texts at each garbage collection.
      const parts = rows.splice(0).sort((one, other) => Number(one.part) - Number(other.part));
      const { part, count, lines, last_key, changes_at, ...head } = firstRow(parts);
      return {
        head: head as Row,
        count: parts.reduce((sum, { count }) => sum + (count ?? 0), 0),
        bytes: encode(parts.flatMap(({ lines }) => lines ?? [])),
        last_key: parts.at(-1)?.last_key ?? null,
        changes_at: parts.flatMap(({ changes_at: at }) => at ?? []).toSorted()[0] ?? null,
      };
    },
    readRevision: () => router.readRevision(),
    bypassReplicas: () => router.bypassReplicas(),
    ...(router.servers !== undefined && { servers: () => router.servers?.() ?? [] }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Parameters that name files. `pg` reads the files at each connect. */
const FILE_PARAMETERS = ['sslrootcert', 'sslcert', 'sslkey'] as const;

/**
 * Parses a `postgres://…` URL. `?pgbouncer=true` (`isPooled`) means that each transaction can run on another connection
 * of the server, so that nothing can be set or prepared on it.
 *
 * @throws DatabaseUnavailableError if a file that the URL names cannot be read.
 */
function readPostgresUrl(url: string): { connectionString: string; isPooled: boolean } {
  const address = new URL(url);
  for (const name of FILE_PARAMETERS) {
    const file = address.searchParams.get(name);
    if (file === null) continue;
    try {
      readFileSync(file);
    } catch (error) {
      const { message } = error as Error;
      throw new DatabaseUnavailableError(`the file named by ${name} in the database URL cannot be read: ${message}`);
    }
  }
  const isPooled = address.searchParams.get('pgbouncer') === 'true';
  address.searchParams.delete('pgbouncer');
  return { connectionString: address.href, isPooled };
}
