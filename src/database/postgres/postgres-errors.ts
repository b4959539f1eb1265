/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const TOO_MANY_CONNECTIONS = '53300';

/** Connection failure (class 08), or a server that is stopping, has crashed or is not ready yet (57P01 to 57P03). */
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

// `pg` throws these without a code.
const MESSAGES = /^(connection terminated|client has encountered a connection error|client was closed)/i;

/** Whether the connection to the server was lost or refused, rather than the statement being at fault. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isConnectionLost);
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return LOST.test(code) || SYSTEM_CODES.has(code);
  return MESSAGES.test(error.message);
}

/** Whether `pg` gave up waiting for a connection or a response. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && /\btimeout\b/i.test(error.message);
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
