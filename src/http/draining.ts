import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.ts';

/**
 * How long kept-alive connections stay open once the end was announced: a client may be sending
 * its next request on one at this moment, and closing it would fail that request. A client that
 * is busy takes a while from an answer to its next request; what is answered from now on tells it to come no more.
 */
const LINGER_MS = 500;

/** How long the rest of a request is waited for whose beginning has arrived. It may never come. */
const HALF_SENT_MS = 2_000;

/** How often connections that have become idle since are looked for. */
const CHECK_INTERVAL_MS = 20;

/**
 * Lets `app.close()` fail no request: no new connection is accepted, what is in flight is
 * answered, every answer tells its client that the connection ends, and idle connections are
 * closed. A deadline is for the caller to set.
 */
export function addDraining(app: FastifyInstance, connections: Connections): void {
  let isDraining = false;
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isDraining) reply.header('connection', 'close');
    done();
  });
  app.addHook('preClose', async () => {
    isDraining = true;
    if (app.server.listening) await drain(app.server, connections);
  });
}

async function drain(server: Server, connections: Connections): Promise<void> {
  // The HTTP server's own close() would also close idle connections, at once.
  const ended = new Promise<'ended'>((resolve) => NetServer.prototype.close.call(server, () => resolve('ended')));
  const halfSentUntil = performance.now() + HALF_SENT_MS;
  let outcome = await Promise.race([ended, delay(LINGER_MS)]);
  while (outcome !== 'ended') {
    server.closeIdleConnections();
    for (const [socket, response] of connections) {
      const isInFlight = response !== null && !response.closed;
      // To Node, a connection on which no request has arrived whole is a busy one.
      const isAwaited = socket.bytesRead > 0 && performance.now() < halfSentUntil;
      if (!isInFlight && !isAwaited && socket.writableLength === 0) socket.destroy();
    }
    outcome = await Promise.race([ended, delay(CHECK_INTERVAL_MS)]);
  }
}
