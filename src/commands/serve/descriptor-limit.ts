import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { MAX_ADMIN_CONNECTIONS } from '../../monitoring/admin-server.ts';
import { throttleWarning } from '../../throttle-warning.ts';

/**
 * Descriptors reserved for the database, the log, admin connections and other files while connections use up the rest.
 */
const RESERVED_DESCRIPTORS = 64 + MAX_ADMIN_CONNECTIONS;

/** Minimum interval between warnings about refused connections. */
const WARN_EVERY_MS = 10_000;

/**
 * Limits connections so that descriptors remain for the rest of the service. Connections beyond the limit are closed at
 * once, and logged. Without a limit, Node silently closes new connections when descriptors run out, and the service
 * cannot reconnect to the database either.
 */
export function boundConnections(server: Server, logger: Pick<Logger, 'warn'>): void {
  const limit = readDescriptorLimit();
  if (limit === null) return;
  server.maxConnections = Math.max(limit - RESERVED_DESCRIPTORS, Math.floor(limit / 4));
  const warn = throttleWarning(WARN_EVERY_MS, (refused) =>
    logger.warn(
      { refused, open: server.maxConnections, descriptors: limit },
      'refusing connections: the limit on open files is reached',
    ),
  );
  server.on('drop', warn);
}

/** This process's limit of open files and sockets; null if unknown or unlimited. */
function readDescriptorLimit(): number | null {
  try {
    // Node raises the soft limit to the hard one at startup.
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
