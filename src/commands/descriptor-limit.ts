import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { MAX_ADMIN_CONNECTIONS } from '../monitoring/admin-server.ts';
import { throttleWarning } from '../monitoring/throttled-warning.ts';

/** Kept free for the database, the log, administrators and whatever else is opened while connections take all they can. */
const RESERVED_DESCRIPTORS = 64 + MAX_ADMIN_CONNECTIONS;

/** How often it is said at most that connections are refused. */
const WARN_EVERY_MS = 10_000;

/**
 * Lets no more connections in than leave descriptors for the rest of the service: one more is
 * closed at once, and the log says so. Without a bound, Node closes new connections without a word when it
 * has no descriptor left, and neither can the database be connected to again.
 */
export function boundConnections(server: Server, logger: Pick<Logger, 'warn'>): void {
  const limit = readDescriptorLimit();
  if (limit === null) return;
  server.maxConnections = Math.max(limit - RESERVED_DESCRIPTORS, Math.floor(limit / 4));
  const warn = throttleWarning(WARN_EVERY_MS, (refused) =>
    logger.warn(
      { refused, open: server.maxConnections, descriptors: limit },
      'connections are refused, since as many are open as the limit on file descriptors allows',
    ),
  );
  server.on('drop', warn);
}

/** How many files and sockets this process may have open; null where that is not known or not limited. */
function readDescriptorLimit(): number | null {
  try {
    // Node has raised the soft limit to the hard one.
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
