import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A server's open connections, each with its latest response; null before the first request. */
export type Connections = ReadonlyMap<Socket, ServerResponse | null>;

/** Tracks a server's connections. This runs on every request, so all features that need it share one map. */
export function trackConnections(server: Server): Connections {
  const connections = new Map<Socket, ServerResponse | null>();
  server.on('connection', (socket) => {
    connections.set(socket, null);
    socket.once('close', () => connections.delete(socket));
  });
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    server.prependListener(event, ({ socket }: IncomingMessage, response: ServerResponse) => {
      // Pipelined requests arrive together: the first may have closed the connection before the second.
      if (connections.has(socket)) connections.set(socket, response);
    });
  }
  return connections;
}
