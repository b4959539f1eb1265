/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const TOO_MANY_CONNECTIONS = '53300';

/** `lock_timeout` */
export const LOCK_TIMEOUT = '55P03';

/** `statement_timeout`, or a canceled statement. */
const CANCELED = '57014';

/**
 * Connection failure (class 08), a server that is stopping, has crashed or is not ready yet (57P01 to 57P03), or an error
 * of the operating system.
 */
const LOST = /^(08...|57P0[123]|ECONN(REFUSED|RESET|ABORTED)|E(HOST|NET)UNREACH|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EPIPE)$/;

// `pg` throws these without a code.
const MESSAGES = /^(connection terminated|client has encountered a connection error|client was closed)/i;

/** Whether the connection to the server was lost or refused, rather than the statement being at fault. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isConnectionLost);
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return LOST.test(code);
  return MESSAGES.test(error.message);
}

/** Whether `pg` gave up waiting for a connection or a response. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && /\btimeout\b/i.test(error.message);
}

/** Adds its statement to the error of a time-out, for the log: its text has placeholders for values. */
export function nameTimedOut(error: unknown, statement: string): void {
  const isCanceled = error instanceof Error && (error as { code?: unknown }).code === CANCELED;
  if (isCanceled || isTimeout(error)) Object.assign(error as Error, { statement });
}

/** Certificate errors of OpenSSL and Node. */
const TLS_CODES =
  /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_(GET|VERIFY|DECRYPT|DECODE)_|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE))/;

/** Whether TLS verification failed, or the server offers no TLS. */
export function isTlsError(error: Error): boolean {
  const { code } = error as { code?: unknown };
  return (
    (typeof code === 'string' && TLS_CODES.test(code)) ||
    error.message === 'The server does not support SSL connections'
  );
}

const ADVICE: Readonly<Record<string, string>> = {
  25006: '. Nothing was changed. If it is a replica, set PDS_DATABASE_URL to the primary',
  42501:
    '. If this is the reader\'s role, use the writer\'s: the reader only serves. Otherwise run "pds roles", also after each ' +
    '"pds migrate". These two commands and "pds recover" must be run as the owner of the tables',
  [LOCK_TIMEOUT]:
    '. Another transaction, such as a pg_dump, has locked a table that this command changes. Run the command again when ' +
    'it has ended',
  53100: '. The disk of the server is full: free some space, and run the command again. It did all of its work or none',
};

/** Describes an error of the server or of the connection to it for operators, and what to do; null for other errors. */
export function describePostgresError(error: Error, displayUrl: string): string | null {
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (isTlsError(error)) {
    return (
      `TLS verification failed for the database ${displayUrl}; no credentials were sent: ${error.message}. With ` +
      'sslmode=verify-full, the server must present a certificate for the host in the URL, signed by an authority in ' +
      'the file that sslrootcert names'
    );
  }
  // `pg` throws its time-outs without a code.
  if (isConnectionLost(error) || syscall === 'connect' || (code === undefined && isTimeout(error))) {
    return `cannot reach the database ${displayUrl}: ${reasonOf(error)}. Check that it is running, and PDS_DATABASE_URL`;
  }
  // A code of the operating system, such as EROFS, has no digit.
  if (typeof code !== 'string' || !/^(?=.*\d)[0-9A-Z]{5}$/.test(code)) return null;
  return `the database ${displayUrl} returned an error: ${error.message} (${code})${ADVICE[code] ?? ''}`;
}

/** If a name has several addresses, Node throws an AggregateError with one error per address and an empty message. */
export function reasonOf(error: unknown): string {
  const parts = error instanceof AggregateError ? error.errors : [error];
  return parts.map((part) => (part instanceof Error ? part.message : String(part))).join(', ');
}
