import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type PoolState, DatabaseBusyError, DatabaseUnavailableError } from '../database.ts';
import { isConnectionLost, isTimeout, nameTimedOut, TOO_MANY_CONNECTIONS } from './postgres-errors.ts';
import { READ_REVISION, type Revision } from '../revision.ts';
import { firstRow } from '../statement.ts';

/** How long a request waits for a connection. */
const CONNECTION_TIMEOUT_MS = 1_000;
const RETRY_MS = 100;

/** For how long the pool stops growing if the server is out of connections: each attempt costs the server a process. */
const POOL_CAP_MS = 1_000;

/** A server that responded within this time but misses the health probe counts as busy, not down. */
const SILENCE_MS = 1_000;

/** Of the health probe: two attempts and the pause between two probes stay below the 2 s to detect an outage. */
const PROBE_TIMEOUT_MS = 500;

/** Its timeout before the first response: startup is in no hurry, and fails if this does. */
const FIRST_PROBE_TIMEOUT_MS = 3_000;

interface Probed {
  readonly revision: Revision;
  /** Since the commit of the last transaction that a replica has replayed; null on a primary, and before the first. */
  readonly replay_age_ms: number | null;
}

const PROBE = `select read.revision,
  1000 * extract(epoch from now() - pg_last_xact_replay_timestamp())::float8 as replay_age_ms from (${READ_REVISION}) as read`;

type IsUnfit = (result: pg.QueryResult) => boolean;

/** Creates a pool that survives the loss of its server: without listeners, a lost connection ends the process. */
export function createPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  // The query in flight rejects anyway.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Runs a statement on a connection from a pool, and releases the connection; closes it if the result `isUnfit`. */
export async function runAndRelease(
  client: pg.PoolClient,
  statement: pg.QueryConfig,
  isUnfit: IsUnfit = () => false,
): Promise<pg.QueryResult> {
  try {
    const result = await client.query(statement);
    client.release(isUnfit(result));
    return result;
  } catch (error) {
    nameTimedOut(error, statement.text);
    // The connection is still usable after a server-side error.
    client.release(!(error instanceof pg.DatabaseError));
    throw error;
  }
}

/**
 * A serving process's pool of connections to one PostgreSQL server. A health probe decides whether the server is up.
 * While it is down, the circuit breaker is open: waiting requests fail at once, and new ones fail without trying.
 */
export class ServerPool {
  /** Whether to close a connection after this result: another one can lead to another server. */
  isUnfit: IsUnfit = () => false;
  readonly #pool: pg.Pool;
  /** The health probe's own connection, so that it neither waits behind slow queries nor is mistaken for one. */
  readonly #probe: pg.Pool;
  #probeTimeoutMs = FIRST_PROBE_TIMEOUT_MS;
  readonly #inUse = new Set<pg.PoolClient>();
  readonly #isPooled: boolean;
  readonly #maxConnections: number;
  #capTimer: NodeJS.Timeout | undefined;
  #isCircuitClosed = true;
  #respondedAtMs = performance.now();

  /** @param isPooled true if PgBouncer is in between, so that no statement can be prepared. */
  constructor(config: pg.PoolConfig, isPooled: boolean) {
    this.#isPooled = isPooled;
    this.#pool = createPool({ ...config, connectionTimeoutMillis: CONNECTION_TIMEOUT_MS });
    const probing = { max: 1, idleTimeoutMillis: 0, connectionTimeoutMillis: FIRST_PROBE_TIMEOUT_MS };
    this.#probe = createPool({ ...config, ...probing });
    this.#maxConnections = this.#pool.options.max;
    this.#pool.on('acquire', (client) => this.#inUse.add(client));
    this.#pool.on('release', (_error, client) => this.#inUse.delete(client));
  }

  get name(): string {
    return new URL(String(this.#pool.options.connectionString)).host;
  }

  get state(): PoolState {
    const { totalCount: total, idleCount: idle, waitingCount: waiting, options } = this.#pool;
    return { isCircuitClosed: this.#isCircuitClosed, total, idle, waiting, max: options.max };
  }

  /** A connection to release. @throws DatabaseUnavailableError; DatabaseBusyError if none became free in a second. */
  async connect(): Promise<pg.PoolClient> {
    const deadlineMs = performance.now() + CONNECTION_TIMEOUT_MS;
    for (;;) {
      if (!this.#isCircuitClosed) throw new DatabaseUnavailableError('the database cannot be reached');
      try {
        return await this.#pool.connect();
      } catch (error) {
        // A connection of this process may still become free.
        const mayPass = (error as { code?: unknown }).code === TOO_MANY_CONNECTIONS;
        if (!mayPass || performance.now() > deadlineMs) throw this.#explain(error);
        if (!this.#capPool()) await delay(RETRY_MS);
      }
    }
  }

  /** Runs a read-only statement, and retries once if the connection is lost. */
  async query(statement: pg.QueryConfig): Promise<pg.QueryResult> {
    const { name, ...unnamed } = statement;
    const run = async (): Promise<pg.QueryResult> =>
      runAndRelease(await this.connect(), this.#isPooled || name === undefined ? unnamed : statement, this.isUnfit);
    const result = await run().catch((error: unknown) => {
      if (!isConnectionLost(error)) throw error;
      return run();
    });
    this.#respondedAtMs = performance.now();
    return result;
  }

  /** @throws if the server does not respond in time. */
  async probe(): Promise<Probed> {
    // If there is a connection, only that one may have failed.
    const wasConnected = this.#probe.totalCount > 0;
    try {
      const probed = await this.#probeOnce().catch((error: unknown) => {
        if (!wasConnected) throw error;
        return this.#probeOnce();
      });
      this.#respondedAtMs = performance.now();
      this.#isCircuitClosed = true;
      return probed;
    } catch (error) {
      const isLost = isConnectionLost(error) && !isTimeout(error);
      if (isLost || performance.now() - this.#respondedAtMs > SILENCE_MS) this.#openCircuit();
      throw error;
    }
  }

  async close(): Promise<void> {
    // Not awaited: a dead server never acknowledges the close.
    if (!this.#probe.ending) void this.#probe.end();
    if (!this.#pool.ending) await this.#pool.end();
  }

  async #probeOnce(): Promise<Probed> {
    // `pg` takes a timeout for each query, which its types omit.
    const query = { text: PROBE, query_timeout: this.#probeTimeoutMs };
    const { rows } = await runAndRelease(await this.#probe.connect(), query, this.isUnfit);
    // The pool reads its option for each new connection.
    this.#probeTimeoutMs = this.#probe.options.connectionTimeoutMillis = PROBE_TIMEOUT_MS;
    return firstRow(rows as Probed[]);
  }

  /** Caps the pool at its current connections for a second; false if it has none. */
  #capPool(): boolean {
    const { options, totalCount } = this.#pool;
    if (totalCount === 0) return false;
    options.max = totalCount;
    this.#capTimer ??= setTimeout(() => {
      options.max = this.#maxConnections;
      this.#capTimer = undefined;
    }, POOL_CAP_MS).unref();
    return true;
  }

  /** Opens the circuit breaker, and ends the connections in use so that their queries fail at once. */
  #openCircuit(): void {
    this.#isCircuitClosed = false;
    for (const client of this.#inUse) void (client as unknown as pg.Client).end().catch(() => undefined);
  }

  /** Distinguishes an exhausted pool from an unreachable server: `pg` reports both with the same message. */
  #explain(error: unknown): unknown {
    const isFull = this.#pool.totalCount >= this.#pool.options.max && this.#pool.idleCount === 0;
    const isAlive = performance.now() - this.#respondedAtMs < SILENCE_MS;
    const isQueueTimeout = error instanceof Error && error.message.startsWith('timeout exceeded');
    return isQueueTimeout && isFull && isAlive
      ? new DatabaseBusyError('all connections to the database are in use')
      : error;
  }
}
