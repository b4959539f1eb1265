import { Redis } from 'ioredis';

/** A connection that has not answered for so long is given up, and another one made. So is one that does not come about. */
const SILENCE_MS = 1_000;

/** The pause before another connection is tried. Not the same for all processes, so that they do not come all at once. */
const RECONNECT_MS = { least: 150, most: 400 };

/**
 * Opens a connection that is made anew, for ever, whenever it is lost. What cannot be sent at
 * once fails at once, and what was not answered before the connection was lost fails then: to
 * send it again later would count a request twice.
 *
 * The caller listens for 'error', tells nobody what comes there but by `reasonOf`, and
 * disconnects in the end.
 */
export function openRedis(redisUrl: string): Redis {
  const { protocol, hostname, port, username, password, pathname } = new URL(redisUrl);
  return new Redis({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 6379),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    db: Number(pathname.slice(1)),
    // The certificate is checked against those that Node trusts, the name in it against the host.
    ...(protocol === 'rediss:' && { tls: {} }),
    connectionName: 'pds',
    disableClientInfo: true,
    // Whether Redis can be used is found out by using it, which needs no permission for INFO.
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: SILENCE_MS,
    socketTimeout: SILENCE_MS,
    retryStrategy: () => RECONNECT_MS.least + Math.random() * (RECONNECT_MS.most - RECONNECT_MS.least),
    // After a failover, the name may lead to the new primary, and only a new connection gets there.
    reconnectOnError: ({ message }) => message.includes('READONLY'),
  });
}

/** Host, port and number of the database, without user and password. */
export function shownRedisUrl(redisUrl: string): string {
  const { host, pathname } = new URL(redisUrl);
  return `${host}${pathname}`;
}

/**
 * Why something failed, in words that may be logged. An error of the client itself may not: it
 * carries the command with its arguments, and that of the log-in has the password in it. Redis
 * too repeats the arguments of a command that it does not know.
 */
export function reasonOf(error: unknown, redisUrl: string): string {
  if (!(error instanceof Error)) return 'unknown';
  // Where a name has several addresses, Node reports one error for each, and an empty message.
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
  const message = first instanceof Error ? first.message : error.message;
  const { username, password } = new URL(redisUrl);
  let reason = message.replace(/,? with args beginning with.*/s, '');
  for (const secret of [password, decodeURIComponent(password), username, decodeURIComponent(username)]) {
    if (secret !== '') reason = reason.replaceAll(secret, '…');
  }
  return reason || error.name;
}
