import type { Database } from '../database/database.ts';
import { EPOCH } from '../instant.ts';
import { waitPatiently } from './patience.ts';

/**
 * The instant of the last publication. Read where someone asks for it and the version, which
 * every publication raises, is another than when it was read last.
 */
export class LastPublication {
  readonly #database: Database;
  readonly #directory: { readonly version: number };
  #instant = EPOCH;
  #version: number | null = null;
  #reading: Promise<void> | null = null;

  constructor(database: Database, directory: { readonly version: number }) {
    this.#database = database;
    this.#directory = directory;
  }

  /** The beginning of 1970 before the first; what was known before where the database does not answer in a second. */
  async read(): Promise<string> {
    if (this.#version !== this.#directory.version) this.#reading ??= this.#readClock();
    if (this.#reading !== null) await waitPatiently(this.#reading);
    return this.#instant;
  }

  async #readClock(): Promise<void> {
    try {
      const { version, last_publication } = await this.#database.kysely
        .selectFrom('access.clock')
        .select(['version', 'last_publication'])
        .executeTakeFirstOrThrow();
      this.#version = version;
      this.#instant = last_publication;
    } catch {
      // It is asked again the next time, and other metrics tell that the database is away.
    } finally {
      this.#reading = null;
    }
  }
}
