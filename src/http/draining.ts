import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/**
 * How long kept-alive connections stay open once the end was announced: a client may be sending
 * its next request on one at this moment, and closing it would fail that request.
 */
const LINGER_MS = 100;

/** How long the rest of a request is waited for whose beginning has arrived. It may never come. */
const HALF_SENT_MS = 2_000;

/** How often connections that have become idle since are looked for. */
const CHECK_INTERVAL_MS = 20;

/**
 * Lets `app.close()` fail no request: no new connection is accepted, what is in flight is
 * answered, every answer tells its client that the connection ends, and idle connections are
 * closed. A deadline is for the caller to set.
 */
export function addDraining(app: FastifyInstance): void {
  const connections = new Set<Socket>();
  const inFlight = new Set<Socket>();
  let isDraining = false;
  app.server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    app.server.prependListener(event, ({ socket }: IncomingMessage, response: ServerResponse) => {
      inFlight.add(socket);
      response.once('close', () => inFlight.delete(socket));
    });
  }
  app.addHook('onSend', async (_request, reply) => {
    if (isDraining) reply.header('Connection', 'close');
  });
  app.addHook('preClose', async () => {
    isDraining = true;
    if (app.server.listening) await drain(app.server, connections, inFlight);
  });
}

async function drain(server: Server, connections: ReadonlySet<Socket>, inFlight: ReadonlySet<Socket>): Promise<void> {
  // The HTTP server's own close() would also close idle connections, at once.
  const ended = new Promise<'ended'>((resolve) => NetServer.prototype.close.call(server, () => resolve('ended')));
  const halfSentUntil = performance.now() + HALF_SENT_MS;
  let outcome = await Promise.race([ended, delay(LINGER_MS)]);
  while (outcome !== 'ended') {
    server.closeIdleConnections();
    for (const socket of connections) {
      // To Node, a connection on which no request has arrived whole is a busy one.
      const isAwaited = socket.bytesRead > 0 && performance.now() < halfSentUntil;
      if (!inFlight.has(socket) && !isAwaited && socket.writableLength === 0) socket.destroy();
    }
    outcome = await Promise.race([ended, delay(CHECK_INTERVAL_MS)]);
  }
}
