/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const TOO_MANY_CONNECTIONS = '53300';

/** The connection failed (class 08), the server is stopping, crashed, or not yet ready (57P01 to 57P03). */
const LOST = /^(08...|57P0[123])$/;

const SYSTEM_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
]);

// These come from `pg` without a code.
const MESSAGES = /^(connection terminated|client has encountered a connection error|client was closed)/i;

/** Whether an error says that a connection to the server was lost or refused, and nothing about the statement. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isConnectionLost);
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return LOST.test(code) || SYSTEM_CODES.has(code);
  return MESSAGES.test(error.message);
}

/** What OpenSSL and Node find wrong with a certificate, and `pg` with a server that has none. */
const TLS_CODES =
  /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_(GET|VERIFY|DECRYPT|DECODE)_|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE))/;

/** Whether a server could not prove its name. */
export function isTlsError(error: Error): boolean {
  const { code } = error as { code?: unknown };
  return (
    (typeof code === 'string' && TLS_CODES.test(code)) ||
    error.message === 'The server does not support SSL connections'
  );
}
