import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type PoolState, DatabaseBusyError, DatabaseUnavailableError } from '../database.ts';
import { isConnectionLost, isTimeout, TOO_MANY_CONNECTIONS } from './postgres-errors.ts';
import { READ_REVISION, type Revision } from '../revision.ts';
import { runStatement, type ReadResult, type ReadStatement } from './text-rows.ts';

/** How long a request waits for a connection. */
const CONNECTION_TIMEOUT_MS = 1_000;
const RETRY_MS = 100;

/**
 * After the server runs out of connections, the pool stops growing for this long: each attempt costs the server a
 * process.
 */
const POOL_CAP_MS = 1_000;

/** A server that responded within this time but misses the health probe counts as busy, not down. */
const SILENCE_MS = 1_000;

/**
 * Timeout of one attempt of the health probe. Two attempts and the pause between two probes stay below the 2 s within
 * which an outage must be noticed.
 */
const PROBE_TIMEOUT_MS = 500;

/** Its timeout before the first response: startup is in no hurry, and fails if this does. */
const FIRST_PROBE_TIMEOUT_MS = 3_000;

/** The replay age is null on a primary, and on a replica before its first transaction. */
interface ProbeRow {
  readonly revision: Revision;
  readonly replay_age_ms: number | null;
}

const PROBE = `select read.*, 1000 * extract(epoch from now() - pg_last_xact_replay_timestamp())::float8 as replay_age_ms
  from (${READ_REVISION}) as read`;

/** Creates a pool that survives the loss of its server: without listeners, a lost connection ends the process. */
export function createPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  // The query in flight rejects anyway.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Runs `work` on a connection from a pool, and releases the connection: by `release` if it succeeds. */
export async function runAndRelease<T>(
  client: pg.PoolClient,
  work: () => Promise<T>,
  release: (result: T) => unknown = () => client.release(),
): Promise<T> {
  try {
    const result = await work();
    release(result);
    return result;
  } catch (error) {
    // The connection is still usable after a server-side error.
    client.release(!(error instanceof pg.DatabaseError));
    throw error;
  }
}

/**
 * A serving process's pool of connections to one PostgreSQL server. A health probe on its own connection decides
 * whether the server is up. While it is down, the circuit breaker is open: waiting requests fail at once, and new ones
 * fail without trying.
 */
export class ServerPool {
  readonly #pool: pg.Pool;
  readonly #probe: HealthProbe;
  readonly #inUse = new Set<pg.PoolClient>();
  readonly #resting = new Set<pg.PoolClient>();
  readonly isPooled: boolean;
  /** On a replica, milliseconds since the commit of the last transaction that it has replayed. */
  replayAgeMs = 0;
  readonly #mostConnections: number;
  #capTimer: NodeJS.Timeout | undefined;
  #isCircuitClosed = true;
  #respondedAtMs = performance.now();

  /** @param isPooled true if PgBouncer is in between, so that no statement can be prepared. */
  constructor(config: pg.PoolConfig, isPooled: boolean) {
    this.isPooled = isPooled;
    this.#pool = createPool({ ...config, connectionTimeoutMillis: CONNECTION_TIMEOUT_MS });
    this.#probe = new HealthProbe(config);
    this.#mostConnections = this.#pool.options.max;
    this.#pool.on('acquire', (client) => this.#inUse.add(client));
    this.#pool.on('release', (_error, client) => this.#inUse.delete(client));
  }

  /** Host and port. */
  get name(): string {
    return new URL(String(this.#pool.options.connectionString)).host;
  }

  get state(): PoolState {
    const { totalCount: total, idleCount: idle, waitingCount: waiting, options } = this.#pool;
    return { isCircuitClosed: this.#isCircuitClosed, total, idle, waiting, most: options.max };
  }

  /**
   * A connection from the pool. The caller must release it.
   *
   * @throws DatabaseUnavailableError if the server is down.
   * @throws DatabaseBusyError if no connection became free within a second.
   */
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

  /** Whether there is a connection to be had that does not rest. */
  get hasMore(): boolean {
    return this.#isCircuitClosed && this.#resting.size < this.#pool.options.max;
  }

  /**
   * Runs `work` on a connection, and retries once if the connection is lost. If `work` returns null, the connection rests:
   * others are offered until the next health probe.
   */
  async use<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const attempt = async (): Promise<T> => {
      const client = await this.connect();
      const release = (result: T): unknown => (result === null ? this.#resting.add(client) : client.release());
      return runAndRelease(client, () => work(client), release);
    };
    return attempt().catch((error: unknown) => {
      if (!isConnectionLost(error)) throw error;
      return attempt();
    });
  }

  /** Runs a read-only statement on a connection of this pool. */
  async run(client: pg.PoolClient, statement: ReadStatement): Promise<ReadResult> {
    const { name, ...unnamed } = statement;
    const result = await runStatement(client, this.isPooled || name === undefined ? unnamed : statement);
    this.#respondedAtMs = performance.now();
    return result;
  }

  /**
   * Reads the revision of `access.clock` on the health probe's own connection.
   *
   * @throws if the server does not respond in time.
   */
  async readRevision(): Promise<Revision> {
    this.#endRest();
    try {
      const { revision, replay_age_ms } = await this.#probe.read();
      this.replayAgeMs = replay_age_ms ?? 0;
      this.#respondedAtMs = performance.now();
      this.#isCircuitClosed = true;
      return revision;
    } catch (error) {
      const isLost = isConnectionLost(error) && !isTimeout(error);
      if (isLost || performance.now() - this.#respondedAtMs > SILENCE_MS) this.#openCircuit();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#probe.close();
    this.#endRest();
    if (!this.#pool.ending) await this.#pool.end();
  }

  #endRest(): void {
    for (const client of this.#resting) client.release();
    this.#resting.clear();
  }

  /** Caps the pool at its current connections for a second; false if it has none. */
  #capPool(): boolean {
    const { options, totalCount } = this.#pool;
    if (totalCount === 0) return false;
    options.max = totalCount;
    this.#capTimer ??= setTimeout(() => {
      options.max = this.#mostConnections;
      this.#capTimer = undefined;
    }, POOL_CAP_MS).unref();
    return true;
  }

  /** Opens the circuit breaker, and ends the connections in use so that their queries fail at once. */
  #openCircuit(): void {
    this.#isCircuitClosed = false;
    for (const client of this.#inUse) void (client as unknown as pg.Client).end().catch(() => undefined);
  }

  /** Tells an exhausted pool from an unreachable server: `pg` reports both with the same message. */
  #explain(error: unknown): unknown {
    const isFull = this.#pool.totalCount >= this.#pool.options.max && this.#pool.idleCount === 0;
    const isAlive = performance.now() - this.#respondedAtMs < SILENCE_MS;
    const isQueueTimeout = error instanceof Error && error.message.startsWith('timeout exceeded');
    return isQueueTimeout && isFull && isAlive
      ? new DatabaseBusyError('all connections to the database are in use')
      : error;
  }
}

/**
 * The health probe: reads the revision of `access.clock` on its own connection, so that it neither waits behind slow
 * queries nor is mistaken for one.
 */
class HealthProbe {
  readonly #pool: pg.Pool;
  #timeoutMs = FIRST_PROBE_TIMEOUT_MS;

  constructor(config: pg.PoolConfig) {
    this.#pool = createPool({
      ...config,
      max: 1,
      idleTimeoutMillis: 0,
      connectionTimeoutMillis: FIRST_PROBE_TIMEOUT_MS,
    });
  }

  /** @throws if neither the current connection nor a new one responds in time. */
  async read(): Promise<ProbeRow> {
    // If there is a connection, only that one may have failed. The pool removes it after any error.
    const wasConnected = this.#pool.totalCount > 0;
    try {
      return await this.#query();
    } catch (error) {
      if (!wasConnected) throw error;
      return this.#query();
    }
  }

  /** Not awaited: a dead server never acknowledges the close. */
  close(): void {
    if (!this.#pool.ending) void this.#pool.end();
  }

  async #query(): Promise<ProbeRow> {
    // `pg` takes a timeout for each query, which its types omit.
    const query = { text: PROBE, query_timeout: this.#timeoutMs };
    const { rows } = await this.#pool.query<ProbeRow>(query);
    const [row] = rows;
    if (row === undefined) throw new Error('access.clock is empty');
    this.#timeoutMs = PROBE_TIMEOUT_MS;
    // The pool reads it for each new connection.
    this.#pool.options.connectionTimeoutMillis = PROBE_TIMEOUT_MS;
    return row;
  }
}
