import type { Database } from '../database/database.ts';
import { revision, type Revision } from '../database/revision.ts';
import { EPOCH } from '../instant.ts';
import { waitPatiently } from './patience.ts';

/**
 * The instant of the last publication. Read where someone asks for it and the revision, which
 * every publication changes, is another than when it was read last.
 */
export class LastPublication {
  readonly #database: Database;
  readonly #directory: { readonly revision: Revision | null };
  #instant = EPOCH;
  #revision: Revision | null = null;
  #reading: Promise<void> | null = null;

  constructor(database: Database, directory: { readonly revision: Revision | null }) {
    this.#database = database;
    this.#directory = directory;
  }

  /** The beginning of 1970 before the first; what was known before where the database does not answer in a second. */
  async read(): Promise<string> {
    if (this.#revision === null || this.#revision !== this.#directory.revision) this.#reading ??= this.#readClock();
    if (this.#reading !== null) await waitPatiently(this.#reading);
    return this.#instant;
  }

  async #readClock(): Promise<void> {
    try {
      const read = await this.#database.kysely
        .selectFrom('access.clock as clock')
        .select([revision.as('revision'), 'clock.last_publication'])
        .executeTakeFirstOrThrow();
      this.#revision = read.revision;
      this.#instant = read.last_publication;
    } catch {
      // It is asked again the next time, and other metrics tell that the database is away.
    } finally {
      this.#reading = null;
    }
  }
}
