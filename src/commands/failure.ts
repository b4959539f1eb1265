import { getSystemErrorMap } from 'node:util';
import { AccessError } from '../access/access-error.ts';
import { ConfigError, type DatabaseConfig } from '../config.ts';
import { DatabaseUnavailableError, NoDatabaseError, SchemaVersionError } from '../database/errors.ts';
import { isTlsError } from '../database/postgres-errors.ts';
import { shownPostgresUrl } from '../database/postgres-url.ts';
import { describeSqliteError, sqliteFiles } from '../database/sqlite-files.ts';
import { ImportLockedError } from '../publishing/lock.ts';
import { RecoveryError } from '../recovery/recovery-error.ts';
import { CommandError } from './command-error.ts';
import { InterruptedError } from './interruption.ts';

const SAYS_IT_ALL = [
  CommandError,
  RecoveryError,
  AccessError,
  ConfigError,
  DatabaseUnavailableError,
  ImportLockedError,
  InterruptedError,
  NoDatabaseError,
  SchemaVersionError,
];

const CONNECTION_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EPIPE']);

// `pg` throws these without a code.
const CONNECTION_MESSAGES =
  /^(timeout exceeded when trying to connect|timeout expired|connection terminated|client has encountered)/i;

/** Advice for some PostgreSQL errors (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const ADVICE: Readonly<Record<string, string>> = {
  25006: '. Is it a replica? PDS_DATABASE_URL has to name the primary. Nothing was changed',
  42501:
    '. "pds roles" gives the roles of serving and of commands what they need, again after each "pds migrate"; those two and ' +
    '"pds recover" are for the owner of the tables',
  '55P03':
    '. Another transaction holds a table that is to be changed, a pg_dump perhaps. Run the command again when it has ended',
  53100: '. Its disk is full: free some, and run the command again, which finds all as it was or all done',
};

/**
 * Describes an error that ended a command. Never contains the database URL, which can hold a password.
 *
 * @param database null if the error occurred before the configuration was read.
 */
export function describeFailure(error: unknown, database: DatabaseConfig | null): string {
  if (!(error instanceof Error)) return `unexpected: ${String(error)}`;
  if (SAYS_IT_ALL.some((known) => error instanceof known)) return error.message;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  // The error that a worker gets from the primary has only the code.
  if (syscall === 'bind' || syscall === 'listen') return describeListenError(error, PARTNERS_PORT);
  if (database?.engine === 'sqlite') {
    const { catalog, access } = sqliteFiles(database.path);
    const message = describeSqliteError(error, [catalog, access]);
    if (message !== null) return message;
  }
  if (database?.engine === 'postgres') {
    if (isTlsError(error)) {
      return (
        `the database ${shownPostgresUrl(database.url)} cannot be trusted, and was told nothing: ${error.message}. With ` +
        'sslmode=verify-full it has to show a certificate for the host that the URL names, from an authority whose own ' +
        'certificate is in the file that sslrootcert names'
      );
    }
    if (isConnectionError(error, code, syscall)) {
      return `cannot reach the database ${shownPostgresUrl(database.url)}: ${reasonOf(error)}. Is it running, and PDS_DATABASE_URL right?`;
    }
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) {
      const advice = ADVICE[code] ?? '';
      return `the database ${shownPostgresUrl(database.url)} answered: ${error.message} (${code})${advice}`;
    }
  }
  return typeof syscall === 'string' ? error.message : `unexpected: ${error.message || error.name}`;
}

/** A port that the service listens on, and the settings for it. */
export interface ListeningPort {
  /** Such as `the port for partners`. */
  readonly what: string;
  readonly host: string;
  readonly port: string;
}

/** Always names the setting; an option is added in parentheses. */
const PARTNERS_PORT: ListeningPort = { what: 'partners', host: 'PDS_HOST (or --host)', port: 'PDS_PORT (or --port)' };

export const ADMIN_PORT: ListeningPort = { what: 'administrators', host: 'PDS_ADMIN_HOST', port: 'PDS_ADMIN_PORT' };

/**
 * Describes an error of `listen`: which port, why, and what to do.
 *
 * @param error as Node reports it to a process that listens itself, or to a worker.
 */
export function describeListenError(error: Error, { what, host, port }: ListeningPort): string {
  const { code } = error as NodeJS.ErrnoException;
  const reason = error.message.replace(/^bind (\w+)/, wordsOfCode);
  const begin = `cannot listen for ${what}: ${reason}.`;
  if (code === 'EADDRINUSE')
    return `${begin} Stop what uses that port, perhaps another "pds serve", or choose another with ${port}`;
  if (code === 'EACCES')
    return `${begin} Choose a port above 1023 with ${port}, or let the user of the service have this one`;
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
