import { existsSync } from 'node:fs';
import type * as sqlite from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { DatabaseUnavailableError } from '../database.ts';
import { createdCatalog } from '../migrations/schemas.ts';
import { READ_REVISION, type Revision } from '../revision.ts';
import { catalogPath } from './file-names.ts';
import { describeSqliteError, hasTable } from './sqlite-files.ts';

/** The catalog's page cache per connection. A pragma without a schema name would set another file's cache. */
export const CACHE_KIB = 64 * 1024;

/** A file that the log names can be deleted before it is attached; then the log names a newer one. */
const MAX_ATTEMPTS = 5;

/** Opens a file in another schema of a connection, with the options of its URL. */
export function attach(connection: sqlite.DatabaseSync, schema: string, file: string, options: string): void {
  connection.prepare(`attach ? as ${schema}`).run(`${pathToFileURL(file).href}?${options}`);
}

/** The last release or reset names the catalog; the revision shows whether that can have changed. */
const READ_HEAD = `select (${READ_REVISION}) as revision,
  (select file from access.events where partner_id is null order by at desc limit 1) as file`;

/** The catalog that is attached to a connection, and of which events it is known to be the current one. */
export class AttachedCatalog {
  readonly #connection: sqlite.DatabaseSync;
  readonly #path: string;
  readonly #mayLackCatalog: boolean;
  /** Null for the empty catalog before the first release; undefined if none is attached. */
  #file: string | null | undefined;
  #revision: Revision | undefined;
  #dataVersion: unknown;
  #reader: sqlite.StatementSync | undefined;

  constructor(connection: sqlite.DatabaseSync, path: string, mayLackCatalog: boolean) {
    this.#connection = connection;
    this.#path = path;
    this.#mayLackCatalog = mayLackCatalog;
  }

  /** The name of the attached file; null before the first release. */
  get file(): string | null {
    return this.#file ?? null;
  }

  /**
   * Whether a statement that has just run read the catalog that its log names. If not, attaches the current one, so that
   * the statement can be run again.
   *
   * @param revision that the statement read; undefined if it read none.
   */
  isCurrentFor(revision: unknown): boolean {
    // Only commands use transactions: no response is read in one.
    if (this.#connection.isTransaction) return true;
    if (revision === undefined ? this.#readVersion() === this.#dataVersion : revision === this.#revision) return true;
    const attached = this.#file;
    this.attachCurrent(true);
    // Without a revision, only the file shows a change. One that was replaced and named again in between has the same records.
    return revision === undefined ? attached === this.#file : revision === this.#revision && attached === this.#file;
  }

  /** Attaches the catalog that the log names. Does nothing in a transaction, which keeps what it has read. */
  attachCurrent(isForced = false): void {
    if (this.#connection.isTransaction) return;
    const version = this.#readVersion();
    if (!isForced && this.#file !== undefined && version === this.#dataVersion) return;
    for (let attempt = 1; ; attempt += 1) {
      const { file, revision } = this.#readHead();
      try {
        if (file !== this.#file) this.#attach(file);
      } catch (error) {
        const isMissing = file !== null && !existsSync(catalogPath(this.#path, file));
        if (isMissing && attempt < MAX_ATTEMPTS) continue;
        if (!this.#mayLackCatalog) throw this.#describe(file, isMissing, error);
        this.#attach(null);
      }
      this.#revision = revision;
      this.#dataVersion = version;
      return;
    }
  }

  /** Differs after each commit of another connection. */
  #readVersion(): unknown {
    this.#reader ??= this.#connection.prepare('pragma access.data_version');
    return this.#reader.get()?.['data_version'];
  }

  #readHead(): { file: string | null; revision: Revision } {
    if (!hasTable(this.#connection, 'events')) return { file: null, revision: '' };
    return this.#connection.prepare(READ_HEAD).get() as { file: string | null; revision: Revision };
  }

  #attach(file: string | null): void {
    if (this.#file !== undefined) this.#connection.exec('detach catalog');
    this.#file = undefined;
    if (file === null) {
      this.#connection.exec("attach ':memory:' as catalog");
      for (const statement of createdCatalog()) this.#connection.exec(statement);
    } else {
      // "immutable" alone would create a file that is missing.
      attach(this.#connection, 'catalog', catalogPath(this.#path, file), 'mode=ro&immutable=1');
    }
    this.#file = file;
    try {
      // Work without the catalog reads nothing else.
      const table = this.#mayLackCatalog ? 'releases' : 'sqlite_schema';
      this.#connection.prepare(`select count(*) from catalog.${table}`).get();
    } catch (error) {
      // The next statement must not find it attached.
      this.#connection.exec('detach catalog');
      this.#file = undefined;
      throw error;
    }
    this.#connection.exec(`pragma catalog.cache_size = -${CACHE_KIB}`);
  }

  #describe(file: string | null, isMissing: boolean, error: unknown): unknown {
    if (file === null) return error;
    const path = catalogPath(this.#path, file);
    const message = isMissing
      ? `${path}, the current catalog of ${this.#path}, is missing: put it back, run "pds rollback", or restore a backup`
      : describeSqliteError(error, path);
    return message === null ? error : new DatabaseUnavailableError(message, { cause: error });
  }
}
