import { Redis } from 'ioredis';

/** Timeout for connecting and for silence on a connection; after it, a new connection is opened. */
const SILENCE_MS = 1_000;

/** The pause before reconnecting, randomized so that processes do not all reconnect at the same time. */
const RECONNECT_MS = { least: 150, most: 400 };

/**
 * Opens a connection that reconnects forever. A command that cannot be sent immediately fails, and so does one without
 * a response when the connection is lost: resending it would count a request twice.
 *
 * The caller must listen for 'error', must expose its errors only through `reasonOf`, and must disconnect in the end.
 */
export function openRedis(redisUrl: string): Redis {
  const { protocol, hostname, port, username, password, pathname } = new URL(redisUrl);
  return new Redis({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 6379),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    db: Number(pathname.slice(1)),
    // Node's trusted CAs verify the certificate, and its name must match the host.
    ...(protocol === 'rediss:' && { tls: {} }),
    connectionName: 'pds',
    disableClientInfo: true,
    // The ready check needs permission for INFO. Using Redis shows whether it is usable.
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: SILENCE_MS,
    socketTimeout: SILENCE_MS,
    retryStrategy: () => RECONNECT_MS.least + Math.random() * (RECONNECT_MS.most - RECONNECT_MS.least),
    // After a failover the host name can resolve to the new primary, which only a new connection reaches.
    reconnectOnError: ({ message }) => message.includes('READONLY'),
  });
}

/** Host, port and database number, without credentials. */
export function shownRedisUrl(redisUrl: string): string {
  const { host, pathname } = new URL(redisUrl);
  return `${host}${pathname}`;
}

/**
 * The reason for a failure, safe to log. The client's own errors are not: they carry the command with its arguments,
 * which for AUTH include the password. Redis also repeats the arguments of unknown commands.
 */
export function reasonOf(error: unknown, redisUrl: string): string {
  if (!(error instanceof Error)) return 'unknown';
  // If a host name has several addresses, Node reports one error per address and an empty message.
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
  const message = first instanceof Error ? first.message : error.message;
  const { username, password } = new URL(redisUrl);
  let reason = message.replace(/,? with args beginning with.*/s, '');
  for (const secret of [password, decodeURIComponent(password), username, decodeURIComponent(username)]) {
    if (secret !== '') reason = reason.replaceAll(secret, '…');
  }
  return reason || error.name;
}
