import type { Database } from '../database/database.ts';
import { revision, type Revision } from '../database/revision.ts';
import { EPOCH } from '../timestamp.ts';
import { waitPatiently } from './patience.ts';

/**
 * The timestamp of the last release. Reads it on demand, and only if the revision, which every release changes, differs
 * from the last read.
 */
export class LastPublication {
  readonly #database: Database;
  readonly #directory: { readonly revision: Revision | null };
  #timestamp = EPOCH;
  #revision: Revision | null = null;
  #reading: Promise<void> | null = null;

  constructor(database: Database, directory: { readonly revision: Revision | null }) {
    this.#database = database;
    this.#directory = directory;
  }

  /** The epoch before the first release; the last known value if the database does not respond within a second. */
  async read(): Promise<string> {
    if (this.#revision === null || this.#revision !== this.#directory.revision) this.#reading ??= this.#readClock();
    if (this.#reading !== null) await waitPatiently(this.#reading);
    return this.#timestamp;
  }

  async #readClock(): Promise<void> {
    try {
      const read = await this.#database.kysely
        .selectFrom('access.clock as clock')
        .select([revision.as('revision'), 'clock.last_publication'])
        .executeTakeFirstOrThrow();
      this.#revision = read.revision;
      this.#timestamp = read.last_publication;
    } catch {
      // The next call retries, and other metrics show that the database is down.
    } finally {
      this.#reading = null;
    }
  }
}
