import { getSystemErrorMap } from 'node:util';
import { withoutKeys } from '../../access/keys.ts';
import type { DatabaseConfig } from '../../config.ts';
import { isTlsError } from '../../database/postgres/postgres-errors.ts';
import { shownPostgresUrl } from '../../database/postgres/postgres-url.ts';
import { describeSqliteError, sqliteFiles } from '../../database/sqlite/sqlite-files.ts';
import { OperatorError } from '../../operator-error.ts';
import { describeProblem, type ImportRefusedError } from '../../publishing/problems.ts';
import type { Output } from './output.ts';

const CONNECTION_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EPIPE']);

// `pg` throws these without a code.
const CONNECTION_MESSAGES =
  /^(timeout exceeded when trying to connect|timeout expired|connection terminated|client has encountered)/i;

/** Advice for some PostgreSQL errors (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const ADVICE: Readonly<Record<string, string>> = {
  25006: '. Nothing was changed. If it is a replica, set PDS_DATABASE_URL to the primary',
  42501:
    '. Run "pds roles" to grant the roles for serving and for commands what they need, also after each "pds migrate". ' +
    'These two commands and "pds recover" must be run as the owner of the tables',
  '55P03':
    '. Another transaction, such as a pg_dump, has locked a table that this command changes. Run the command again when ' +
    'it has ended',
  53100: '. The disk of the server is full: free some space, and run the command again. It did all of its work or none',
};

/** The error that ended a command, if closing the database then failed, too. */
export function causeOf(error: unknown): unknown {
  return error instanceof SuppressedError ? causeOf(error.suppressed) : error;
}

/**
 * Describes an error that ended a command. Never contains the database URL, which can hold a password.
 *
 * @param database null if the error occurred before the configuration was read.
 */
export function describeFailure(error: unknown, database: DatabaseConfig | null): string {
  if (!(error instanceof Error)) return `unexpected: ${String(error)}`;
  if (error instanceof OperatorError) return error.message;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  // The error that a worker gets from the primary has only the code.
  if (syscall === 'bind' || syscall === 'listen') return describeListenError(error, API_PORT);
  if (database?.engine === 'sqlite') {
    const { catalog, access } = sqliteFiles(database.path);
    const message = describeSqliteError(error, [catalog, access]);
    if (message !== null) return message;
  }
  if (database?.engine === 'postgres') {
    const shown = shownPostgresUrl(database.url);
    if (isTlsError(error)) {
      return (
        `TLS verification failed for the database ${shown}; no credentials were sent: ${error.message}. With ` +
        'sslmode=verify-full, the server must present a certificate for the host in the URL, signed by an authority in ' +
        'the file that sslrootcert names'
      );
    }
    if (isConnectionError(error, code, syscall)) {
      return `cannot reach the database ${shown}: ${reasonOf(error)}. Check that it is running, and PDS_DATABASE_URL`;
    }
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) {
      return `the database ${shown} returned an error: ${error.message} (${code})${ADVICE[code] ?? ''}`;
    }
  }
  return typeof syscall === 'string' ? error.message : `unexpected: ${error.message || error.name}`;
}

/** Reports the problems of a refused import. */
export function reportRefusal(output: Output, error: ImportRefusedError): void {
  // Redact keys: an operator may have entered one in place of a directory.
  const problems = error.problems.map((problem) => ({ ...problem, file: withoutKeys(problem.file) }));
  output.note(problems.map(describeProblem));
  const count = error.isCutShort
    ? `many problems, of which the first ${problems.length} are listed`
    : `${error.count} problem${error.count === 1 ? '' : 's'}`;
  const message = `import rejected with ${count}; nothing was written`;
  output.note(`error: ${message}`);
  if (output.isJson) output.result({ error: { message, problems } }, '');
}

/** Always names the setting; an option is added in parentheses. `inUse` follows the advice for a port in use. */
const API_PORT = { what: 'the API', host: 'PDS_HOST (or --host)', port: 'PDS_PORT (or --port)', inUse: '' };

/** It is opened first, so that a second service on the machine fails here. */
export const ADMIN_PORT = {
  what: 'the admin server',
  host: 'PDS_ADMIN_HOST',
  port: 'PDS_ADMIN_PORT (or --admin-port)',
  inUse: '. A second service also needs its own PDS_PORT (or --port)',
};

/**
 * Describes an error of `listen`: which port, why, and what to do.
 *
 * @param error as Node reports it to a process that listens itself, or to a worker.
 * @param server what listens, and the names of its settings.
 */
export function describeListenError(error: Error, { what, host, port, inUse }: typeof API_PORT): string {
  const { code } = error as NodeJS.ErrnoException;
  const reason = error.message.replace(/^bind (\w+)/, wordsOfCode);
  const begin = `cannot open the port of ${what}: ${reason}.`;
  if (code === 'EADDRINUSE')
    return `${begin} Stop the process that uses it, such as another "pds serve", or choose another with ${port}${inUse}`;
  if (code === 'EACCES')
    return `${begin} Choose a port above 1023 with ${port}, or permit the service's user to open this one`;
  return `${begin} Choose another address with ${host}`;
}

/** `bind EADDRINUSE` → `listen EADDRINUSE: address already in use`, which is Node's own wording. */
function wordsOfCode(_: string, code: string): string {
  const known = [...getSystemErrorMap().values()].find(([name]) => name === code);
  return `listen ${code}: ${known?.[1] ?? 'not possible'}`;
}

function isConnectionError(error: Error, code: unknown, syscall: unknown): boolean {
  return (
    (typeof code === 'string' && CONNECTION_CODES.has(code)) ||
    syscall === 'connect' ||
    CONNECTION_MESSAGES.test(error.message)
  );
}

/** If a name has several addresses, Node throws an AggregateError with one error per address and an empty message. */
function reasonOf(error: Error): string {
  const parts = error instanceof AggregateError ? error.errors : [error];
  return parts.map((part) => (part instanceof Error ? part.message : String(part))).join(', ');
}
