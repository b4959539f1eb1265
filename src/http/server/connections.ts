import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * How long a finished response can wait to be read. The unread rest is held in this process's memory, on top of the
 * megabytes that the operating system buffers per connection. Even a slow client that reads steadily is done long
 * before.
 */
const UNREAD_MS = 30_000;

const CHECK_MS = 1_000;

/** A server's open connections, each with its latest response; null before the first request. */
export class Connections extends Map<Socket, ServerResponse | null> {
  /** Whether shutdown was announced: from then on every response closes its connection. */
  isDraining = false;

  /** Follows the connections of a server that does not listen yet. */
  track(server: Server): void {
    server.on('connection', (socket) => {
      this.set(socket, null);
      socket.once('close', () => this.delete(socket));
    });
    server.once('listening', () => this.#closeUnread(server));
  }

  /** Call for each request. Pipelined ones arrive together: the first may have closed the connection before the second. */
  noticeRequest(socket: Socket, response: ServerResponse): void {
    if (this.has(socket)) this.set(socket, response);
  }

  /**
   * Closes connections whose clients do not read. Node's own timeouts cover slow senders and fully idle connections
   * only: a client that reads a byte now and then would hold its responses in memory forever.
   */
  #closeUnread(server: Server): void {
    const unreadSinceMs = new WeakMap<ServerResponse, number>();
    const timer = setInterval(() => {
      const nowMs = performance.now();
      for (const [socket, response] of this) {
        if (response === null || !response.writableEnded || response.writableFinished) continue;
        const sinceMs = unreadSinceMs.get(response);
        if (sinceMs === undefined) unreadSinceMs.set(response, nowMs);
        else if (nowMs - sinceMs > UNREAD_MS) socket.destroy();
      }
    }, CHECK_MS).unref();
    server.once('close', () => clearInterval(timer));
  }
}
