import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The open connections of a server, each with its newest answer; null before the first request. */
export type Connections = ReadonlyMap<Socket, ServerResponse | null>;

/**
 * Keeps count of a server's connections. One place for all who need it, since it is done for
 * every request.
 */
export function trackConnections(server: Server): Connections {
  const connections = new Map<Socket, ServerResponse | null>();
  server.on('connection', (socket) => {
    connections.set(socket, null);
    socket.once('close', () => connections.delete(socket));
  });
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    server.prependListener(event, ({ socket }: IncomingMessage, response: ServerResponse) => {
      // Requests that were read together come as one: their connection may be gone by the second.
      if (connections.has(socket)) connections.set(socket, response);
    });
  }
  return connections;
}
