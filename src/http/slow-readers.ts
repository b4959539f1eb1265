import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.ts';

/**
 * How long an answer that was made may wait to be read. What is left of it is in this process's memory, beside the megabytes that the
 * system holds for each connection: who reads, however slowly, is through with that long before.
 */
const UNREAD_MS = 30_000;

const CHECK_MS = 1_000;

/**
 * Ends connections whose clients do not read. Node's own timeouts are for what is sent to it, and
 * for connections on which nothing happens at all: a client that reads a byte now and then holds
 * its answers for ever.
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
