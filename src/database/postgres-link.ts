import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { PoolState } from './database.ts';
import { DatabaseBusyError, DatabaseUnavailableError } from './errors.ts';
import { isConnectionLost, TOO_MANY_CONNECTIONS } from './postgres-errors.ts';
import { PostgresPulse } from './postgres-pulse.ts';
import type { Revision } from './revision.ts';

/** How long a request waits for a connection. */
const CONNECTION_TIMEOUT_MS = 1_000;
const RETRY_MS = 100;

/** How long no more connections are asked for than the server has given: each attempt costs it a process. */
const FEWER_MS = 1_000;

/** Where this was heard of it last, a server that does not answer the pulse is busy and not away. */
const SILENCE_MS = 1_000;

/**
 * The connections of a serving process to one PostgreSQL server. Waits are bounded: whether the
 * server is there is found out by a pulse on a connection of its own, and where it is not, what
 * waits for it fails at once, and what comes later does so without trying, until it is back.
 */
export class PostgresLink {
  readonly #pool: pg.Pool;
  readonly #pulse: PostgresPulse;
  readonly #inUse = new Set<pg.PoolClient>();
  readonly #isPooled: boolean;
  readonly #mostConnections: number;
  #fewerTimer: NodeJS.Timeout | undefined;
  #isUp = true;
  #heardAtMs = performance.now();

  /** @param isPooled true where PgBouncer stands before it, and no statement can be prepared. */
  constructor(config: pg.PoolConfig, isPooled: boolean) {
    this.#isPooled = isPooled;
    this.#pool = new pg.Pool({ ...config, connectionTimeoutMillis: CONNECTION_TIMEOUT_MS });
    this.#pulse = new PostgresPulse(config);
    this.#mostConnections = this.#pool.options.max;
    // Without these listeners a connection that loses its server ends the process; the query in flight fails by itself.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
    this.#pool.on('acquire', (client) => this.#inUse.add(client));
    this.#pool.on('release', (_error, client) => this.#inUse.delete(client));
  }

  /** Host and port. */
  get name(): string {
    return new URL(String(this.#pool.options.connectionString)).host;
  }

  get state(): PoolState {
    const { totalCount: total, idleCount: idle, waitingCount: waiting, options } = this.#pool;
    return { isUp: this.#isUp, total, idle, waiting, most: options.max };
  }

  /**
   * A connection of the pool, to be released.
   *
   * @throws DatabaseUnavailableError where the server is known to be away.
   * @throws DatabaseBusyError where none became free in time.
   */
  async connect(): Promise<pg.PoolClient> {
    const giveUpAtMs = performance.now() + CONNECTION_TIMEOUT_MS;
    for (;;) {
      if (!this.#isUp) throw new DatabaseUnavailableError('the database cannot be reached');
      try {
        return await this.#pool.connect();
      } catch (error) {
        // Those that this process has may become free yet.
        const mayPass = (error as { code?: unknown }).code === TOO_MANY_CONNECTIONS;
        if (!mayPass || performance.now() > giveUpAtMs) throw this.#explain(error);
        if (!this.#takeFewer()) await delay(RETRY_MS);
      }
    }
  }

  /** Runs a statement that only reads: one whose connection was lost under it runs once more. */
  async query(statement: pg.QueryConfig): Promise<pg.QueryResult> {
    try {
      return await this.#queryOnce(statement);
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
      return this.#queryOnce(statement);
    }
  }

  /**
   * Reads the revision of `access.clock` on a connection that no other query uses.
   *
   * @throws where the server does not answer in time.
   */
  async readRevision(): Promise<Revision> {
    try {
      const revision = await this.#pulse.read();
      this.#heard();
      this.#isUp = true;
      return revision;
    } catch (error) {
      if (performance.now() - this.#heardAtMs > SILENCE_MS || isConnectionLost(error)) this.#giveUp();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#pulse.close();
    if (!this.#pool.ended) await this.#pool.end();
  }

  async #queryOnce(statement: pg.QueryConfig): Promise<pg.QueryResult> {
    const client = await this.connect();
    try {
      const { name, ...unnamed } = statement;
      const result = await client.query(this.#isPooled || name === undefined ? unnamed : statement);
      this.#heard();
      client.release();
      return result;
    } catch (error) {
      // What the server itself says of a statement leaves the connection as it was.
      client.release(!(error instanceof pg.DatabaseError));
      throw error;
    }
  }

  /** Lets the pool do with the connections that it has; false where it has none. */
  #takeFewer(): boolean {
    const { options, totalCount } = this.#pool;
    if (totalCount === 0) return false;
    options.max = totalCount;
    this.#fewerTimer ??= setTimeout(() => {
      options.max = this.#mostConnections;
      this.#fewerTimer = undefined;
    }, FEWER_MS).unref();
    return true;
  }

  #heard(): void {
    this.#heardAtMs = performance.now();
  }

  /** Ends what waits for an answer that will not come. */
  #giveUp(): void {
    this.#isUp = false;
    for (const client of this.#inUse) void (client as unknown as pg.Client).end().catch(() => undefined);
  }

  /** The pool has one message for a server that is not reached and for connections that are all in use. */
  #explain(error: unknown): unknown {
    const isFull = this.#pool.totalCount >= this.#pool.options.max && this.#pool.idleCount === 0;
    const isAlive = performance.now() - this.#heardAtMs < SILENCE_MS;
    const isTimeout = error instanceof Error && error.message.startsWith('timeout exceeded');
    return isTimeout && isFull && isAlive ? new DatabaseBusyError('all connections to the database are in use') : error;
  }
}
