import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.ts';

/**
 * How long a finished response can wait to be read. The unread rest is held in this process's memory, on top of the
 * megabytes that the operating system buffers per connection. Even a slow client that reads steadily is done long
 * before.
 */
const UNREAD_MS = 30_000;

const CHECK_MS = 1_000;

/**
 * Closes connections whose clients do not read. Node's own timeouts cover slow senders and fully idle connections only:
 * a client that reads a byte now and then would hold its responses in memory forever.
 */
export function endSlowReaders(app: FastifyInstance, connections: Connections): void {
  const unreadSinceMs = new WeakMap<ServerResponse, number>();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    for (const [socket, response] of connections) {
      if (response === null || !response.writableEnded || response.writableFinished) continue;
      const sinceMs = unreadSinceMs.get(response);
      if (sinceMs === undefined) unreadSinceMs.set(response, nowMs);
      else if (nowMs - sinceMs > UNREAD_MS) socket.destroy();
    }
  }, CHECK_MS).unref();
  app.addHook('onClose', () => clearInterval(timer));
}
