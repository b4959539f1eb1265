import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether the end was announced: from then on every response closes its connection. */
    readonly isDraining: boolean;
    /**
     * Announces the end, and goes on accepting connections and answering requests for half a second. To be awaited
     * before `close()` if proxies or clients may not know yet that this process ends.
     */
    linger(): Promise<void>;
  }
}

/**
 * How long kept-alive connections stay open once the end was announced: a client may be sending
 * its next request on one at this moment, and closing it would fail that request. A client that
 * is busy takes a while from an answer to its next request; what is answered from now on tells it to come no more.
 * Also how long `linger()` goes on accepting connections.
 */
const LINGER_MS = 500;

/** The same for connections after `linger()`: the request of one that was accepted last may still be on its way. */
const LAST_REQUESTS_MS = 100;

/** How long the listener waits at most for a moment in which no connection waits to be accepted. */
const QUIET_WITHIN_MS = 500;

/** How long requests are held after the listener closed: with workers, the primary process closes it a moment later. */
const HELD_AFTER_MS = 50;

/** A turn of the event loop that did next to nothing. */
const SHORT_TURN_MS = 0.5;

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
  let hasLingered = false;
  app.decorate('isDraining', { getter: () => isDraining });
  app.decorate('linger', async () => {
    isDraining = true;
    if (!app.server.listening) return;
    await delay(LINGER_MS);
    hasLingered = true;
  });
  /** Settles when the listener is closed; null before that is about to happen. */
  let closing: Promise<unknown> | null = null;
  app.addHook('onRequest', (_request, _reply, done) => {
    // A client that gets its response comes again: under load there would be no moment in which none waits.
    if (closing === null) done();
    else closing.then(() => done(), done);
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isDraining) reply.header('connection', 'close');
    done();
  });
  app.addHook('preClose', async () => {
    isDraining = true;
    if (!app.server.listening) return;
    const closed = Promise.withResolvers<null>();
    closing = closed.promise.then(() => delay(HELD_AFTER_MS));
    await untilNoneWaits(app.server);
    const drained = drain(app.server, connections, hasLingered ? LAST_REQUESTS_MS : LINGER_MS);
    closed.resolve(null);
    await drained;
  });
}

async function drain(server: Server, connections: Connections, lingerMs: number): Promise<void> {
  // The HTTP server's own close() would also close idle connections, at once.
  const ended = new Promise<'ended'>((resolve) => NetServer.prototype.close.call(server, () => resolve('ended')));
  const halfSentUntil = performance.now() + HALF_SENT_MS;
  let outcome = await Promise.race([ended, delay(lingerMs)]);
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

/**
 * Resolves right after a short turn of the event loop in which no connection was accepted, so that none is waiting: when a
 * listener closes, the system resets all that wait to be accepted. During a long turn, whose responses let clients come
 * again, many may have arrived.
 */
async function untilNoneWaits(server: Server): Promise<void> {
  const untilMs = performance.now() + QUIET_WITHIN_MS;
  let accepted = 0;
  const count = (): void => {
    accepted += 1;
  };
  server.on('connection', count);
  let before: number;
  let turnedMs: number;
  do {
    before = accepted;
    turnedMs = performance.now();
    await nextTurn();
  } while ((accepted > before || performance.now() - turnedMs > SHORT_TURN_MS) && performance.now() < untilMs);
  server.off('connection', count);
}
