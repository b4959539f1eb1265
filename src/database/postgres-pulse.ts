import pg from 'pg';
import { READ_REVISION, type Revision } from './revision.ts';

/** Time for one attempt. Two of them and the pause between two pulses are less than the 2 s that an outage may take to be noticed. */
const TIMEOUT_MS = 500;

/** Before it was ever heard: a start is in no hurry, and ends where this fails. */
const FIRST_TIMEOUT_MS = 3_000;

/**
 * Reads the revision of `access.clock`, and with it whether the server is there: on a connection
 * of its own, so that it neither waits behind slow queries nor is mistaken for one.
 */
export class PostgresPulse {
  readonly #config: pg.ClientConfig;
  #client: pg.Client | null = null;
  #isClosed = false;
  #timeoutMs = FIRST_TIMEOUT_MS;

  constructor(config: pg.ClientConfig) {
    this.#config = config;
  }

  /** @throws where there is no answer on the connection that it has, nor on a new one. */
  async read(): Promise<Revision> {
    if (this.#client !== null) {
      try {
        return await this.#ask(this.#client);
      } catch {
        // The one connection may be what failed.
      }
    }
    return this.#ask(await this.#connect());
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
      // What is left of it may hold a socket.
      void client.end().catch(() => undefined);
      throw error;
    }
    if (this.#isClosed) {
      await client.end();
      throw new Error('the pulse has ended');
    }
    this.#client = client;
    return client;
  }

  async #ask(client: pg.Client): Promise<Revision> {
    const question = { text: READ_REVISION, query_timeout: this.#timeoutMs };
    try {
      const { rows } = await client.query<{ revision: Revision }>(question);
      const [row] = rows;
      if (row === undefined) throw new Error('access.clock is empty');
      this.#timeoutMs = TIMEOUT_MS;
      return row.revision;
    } catch (error) {
      this.#drop();
      throw error;
    }
  }

  /** Not waited for: a server that is away says no farewell. */
  #drop(): void {
    void this.#client?.end().catch(() => undefined);
    this.#client = null;
  }
}
