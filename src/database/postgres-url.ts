import { readFileSync } from 'node:fs';
import { DatabaseUnavailableError } from './errors.ts';

/** Parameters that name files; the library reads them each time that it connects. */
const FILE_PARAMETERS = ['sslrootcert', 'sslcert', 'sslkey'] as const;

/** Where a PostgreSQL server is, and what stands before it. */
export interface PostgresAddress {
  readonly connectionString: string;
  /**
   * PgBouncer in transaction mode: the server's side of a connection changes with each statement, so that nothing can
   * be set for it or prepared on it. Settings then stand on the role (`pds roles`).
   */
  readonly isPooled: boolean;
}

/**
 * Reads a `postgres://…` URL; `?pgbouncer=true` says that PgBouncer stands before the server.
 *
 * @throws DatabaseUnavailableError where a file that it names cannot be read.
 */
export function readPostgresUrl(url: string): PostgresAddress {
  const address = new URL(url);
  for (const name of FILE_PARAMETERS) {
    const file = address.searchParams.get(name);
    if (file === null) continue;
    try {
      readFileSync(file);
    } catch (error) {
      const { message } = error as Error;
      throw new DatabaseUnavailableError(
        `the file that ${name} in the URL of the database names cannot be read: ${message}`,
      );
    }
  }
  const isPooled = address.searchParams.get('pgbouncer') === 'true';
  address.searchParams.delete('pgbouncer');
  return { connectionString: address.href, isPooled };
}

/** Host, port and name of the database, without user and password. */
export function shownPostgresUrl(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
