import type pg from 'pg';
import { READ_REVISION, type Revision } from '../revision.ts';
import { createPool } from './pool.ts';

/**
 * Timeout of one attempt. Two attempts and the pause between two probes stay below the 2 s within which an outage must
 * be noticed.
 */
const TIMEOUT_MS = 500;

/** Timeout before the first response: startup is in no hurry, and fails if this does. */
const FIRST_TIMEOUT_MS = 3_000;

/**
 * The health probe: reads the revision of `access.clock` on its own connection, so that it neither waits behind slow
 * queries nor is mistaken for one.
 */
export class HealthProbe {
  readonly #pool: pg.Pool;
  #timeoutMs = FIRST_TIMEOUT_MS;

  constructor(config: pg.PoolConfig) {
    this.#pool = createPool({ ...config, max: 1, idleTimeoutMillis: 0, connectionTimeoutMillis: FIRST_TIMEOUT_MS });
  }

  /** @throws if neither the current connection nor a new one responds in time. */
  async read(): Promise<Revision> {
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

  async #query(): Promise<Revision> {
    // `pg` takes a timeout for each query, which its types omit.
    const query = { text: READ_REVISION, query_timeout: this.#timeoutMs };
    const { rows } = await this.#pool.query<{ revision: Revision }>(query);
    const [row] = rows;
    if (row === undefined) throw new Error('access.clock is empty');
    this.#timeoutMs = TIMEOUT_MS;
    // The pool reads it for each new connection.
    this.#pool.options.connectionTimeoutMillis = TIMEOUT_MS;
    return row.revision;
  }
}
