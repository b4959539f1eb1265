import pg from 'pg';
import { READ_REVISION, type Revision } from './revision.ts';

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
  readonly #config: pg.ClientConfig;
  #client: pg.Client | null = null;
  #isClosed = false;
  #timeoutMs = FIRST_TIMEOUT_MS;

  constructor(config: pg.ClientConfig) {
    this.#config = config;
  }

  /** @throws if neither the current connection nor a new one responds in time. */
  async read(): Promise<Revision> {
    if (this.#client !== null) {
      try {
        return await this.#query(this.#client);
      } catch {
        // Only this connection may have failed.
      }
    }
    return this.#query(await this.#connect());
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  async #connect(): Promise<pg.Client> {
    const timeoutMs = this.#timeoutMs;
    const client = new pg.Client({ ...this.#config, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs });
    client.on('error', () => undefined);
    try {
      await client.connect();
    } catch (error) {
      // The failed client may still hold a socket.
      void client.end().catch(() => undefined);
      throw error;
    }
    if (this.#isClosed) {
      await client.end();
      throw new Error('the health probe is closed');
    }
    this.#client = client;
    return client;
  }

  async #query(client: pg.Client): Promise<Revision> {
    const query = { text: READ_REVISION, query_timeout: this.#timeoutMs };
    try {
      const { rows } = await client.query<{ revision: Revision }>(query);
      const [row] = rows;
      if (row === undefined) throw new Error('access.clock is empty');
      this.#timeoutMs = TIMEOUT_MS;
      return row.revision;
    } catch (error) {
      this.#drop();
      throw error;
    }
  }

  /** Not awaited: a dead server never acknowledges the close. */
  #drop(): void {
    void this.#client?.end().catch(() => undefined);
    this.#client = null;
  }
}
