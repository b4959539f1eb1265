import { readFileSync } from 'node:fs';
import { DatabaseUnavailableError } from '../errors.ts';

/** Parameters that name files. `pg` reads the files at each connect. */
const FILE_PARAMETERS = ['sslrootcert', 'sslcert', 'sslkey'] as const;

/**
 * Parses a `postgres://…` URL; `?pgbouncer=true` means that PgBouncer is in front of the server.
 *
 * @returns `isPooled` for PgBouncer in transaction mode: each transaction can run on another server connection, so
 *   nothing can be set or prepared on it. Settings are then made on the role (`pds roles`).
 * @throws DatabaseUnavailableError if a file that the URL names cannot be read.
 */
export function readPostgresUrl(url: string): { connectionString: string; isPooled: boolean } {
  const address = new URL(url);
  for (const name of FILE_PARAMETERS) {
    const file = address.searchParams.get(name);
    if (file === null) continue;
    try {
      readFileSync(file);
    } catch (error) {
      const { message } = error as Error;
      throw new DatabaseUnavailableError(`the file named by ${name} in the database URL cannot be read: ${message}`);
    }
  }
  const isPooled = address.searchParams.get('pgbouncer') === 'true';
  address.searchParams.delete('pgbouncer');
  return { connectionString: address.href, isPooled };
}

/** The URL's host, port and database name, without user and password. */
export function shownPostgresUrl(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
