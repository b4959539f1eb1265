import { withoutKeys } from '../../access/keys.ts';
import type { DatabaseConfig } from '../../config.ts';
import { describeDatabaseError } from '../../database/configured.ts';
import { OperatorError } from '../../operator-error.ts';
import { describeProblem, type ImportRefusedError } from '../../publishing/problems.ts';
import type { Output } from './output.ts';

/** The error that ended a command, if closing the database then failed, too. */
export function causeOf(error: unknown): unknown {
  return error instanceof SuppressedError ? causeOf(error.suppressed) : error;
}

/**
 * Describes an error that ended a command, without the database's URL, which can hold a password. `database` is null if
 * the configuration had not been read.
 */
export function describeFailure(error: unknown, database: DatabaseConfig | null): string {
  if (!(error instanceof Error)) return `unexpected: ${String(error)}`;
  // The package of conversions does not know our errors.
  if (error instanceof OperatorError || error.name === 'InputError') return error.message;
  const { syscall } = error as { syscall?: unknown };
  if (syscall === 'listen') return describeListenError(error, API_PORT);
  const described = database === null ? null : describeDatabaseError(error, database);
  if (described !== null) return described;
  return typeof syscall === 'string' ? error.message : `unexpected: ${error.message || error.name}`;
}

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
const API_PORT = {
  what: 'the API',
  host: 'PDS_HOST (or --host)',
  port: 'PDS_PORT (or --port)',
  inUse: '. Several services of one user share a port if each has PDS_REUSE_PORT=true (or --reuse-port)',
};

/** It is opened first, so that a second service on the machine fails here. */
export const ADMIN_PORT = {
  what: 'the admin server',
  host: 'PDS_ADMIN_HOST',
  port: 'PDS_ADMIN_PORT (or --admin-port)',
  inUse: '. A second service also needs its own PDS_PORT (or --port), or PDS_REUSE_PORT=true (or --reuse-port)',
};

export function describeListenError(error: Error, { what, host, port, inUse }: typeof API_PORT): string {
  const { code } = error as NodeJS.ErrnoException;
  const begin = `cannot open the port of ${what}: ${error.message}.`;
  if (code === 'EADDRINUSE')
    return `${begin} Stop the process that uses it, such as another "pds serve", or choose another with ${port}${inUse}`;
  if (code === 'EACCES')
    return `${begin} Choose a port above 1023 with ${port}, or permit the service's user to open this one`;
  if (code === 'ENOTSUP')
    return `${begin} Processes cannot share a port on this system: start one, without PDS_REUSE_PORT (or --reuse-port)`;
  return `${begin} Choose another address with ${host}`;
}
