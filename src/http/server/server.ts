import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type Socket, Server as NetServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { healthResponses } from '../openapi/openapi-responses.ts';
import { objectSchema } from '../openapi/openapi-schemas.ts';
import { routedUrl } from '../request/request-head.ts';
import { createRequestId, JSON_TYPE } from '../response/send-text.ts';
import type { OpenStreams } from './open-streams.ts';

/** An `import` would read every export, and so load Node's WebSocket client: 15 MB and 60 ms of CPU in each process. */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');

/** Maximum size of the request line and all headers together. */
export const MAX_HEAD_BYTES = 16_384;

/** Fastify's options that depend on neither settings nor services. */
export const FRAMEWORK_OPTIONS = {
  // One logger for all: one for each request would cost more than its one line, which gets the request's ID explicitly.
  childLoggerFactory: (parent: FastifyBaseLogger) => parent,
  logController: new LogController({ disableRequestLogging: true }),
  genReqId: createRequestId,
  requestIdHeader: false,
  rewriteUrl: routedUrl,
  routerOptions: {
    // `parameters.ts` parses the query, from the raw URL.
    querystringParser: () => ({}),
    // The limit on the head also limits the length of an ID; an ID that is too long simply does not exist.
    maxParamLength: MAX_HEAD_BYTES,
  },
  return503OnClosing: false,
} as const;

// A client that sends slowly, or does not read, occupies a connection. Node's own limits are one and five minutes.
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
const CONNECTIONS_CHECK_MS = 1_000;
const IDLE_TIMEOUT_MS = 90_000;

/** Longer than the idle timeout of common load balancers (60 s), which must close first. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** Creates the HTTP server. */
export function createHttpServer(
  connections: Connections,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    requireHostHeader: false,
  });
  server.setTimeout(IDLE_TIMEOUT_MS);
  connections.track(server);
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    connections.recordRequest(request.socket, response);
    handle(request, response);
  };
  // Node would respond to an Expect header itself. Bodies are not accepted, so "100 Continue" is never sent.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, listener);
  return server;
}

/** In milliseconds. Tests have shorter ones. */
export const WAITS = {
  /**
   * How long a client can read nothing of a finished response, whose rest is in memory, or of a stream. Of a stream, the system
   * takes up to 1.5 MB at once, and nothing more until the client has read as much: one
   * that reads less than 50 to 100 kB a second can be cut.
   */
  unreadMs: 30_000,
  /** How long requests in flight can take after shutdown has begun: less than this process has (`closeAtEnd`). */
  drainMs: 8_000,
};

const CHECK_MS = 1_000;

/** A server's open connections, each with the response that it waits for; null if it waits for none. */
export class Connections extends Map<Socket, ServerResponse | null> {
  readonly #openStreams: OpenStreams;
  readonly #unreadMs: number;
  /** Whether shutdown has begun: from then on every response closes its connection. */
  isDraining = false;

  constructor(openStreams: OpenStreams, unreadMs: number) {
    super();
    this.#openStreams = openStreams;
    this.#unreadMs = unreadMs;
  }

  /** Follows the connections of a server that does not listen yet. */
  track(server: Server): void {
    server.on('connection', (socket) => {
      this.set(socket, null);
      socket.once('close', () => this.delete(socket));
    });
    server.once('listening', () => this.#closeUnread(server));
  }

  /** Call for each request. Pipelined ones arrive together: the first can close the connection before the second. */
  recordRequest(socket: Socket, response: ServerResponse): void {
    if (!this.has(socket)) return;
    this.set(socket, response);
    // An idle connection must not keep its last key in memory. One whose body is still to come has not been read to its end.
    response.on('close', () => {
      if (response.req.complete && this.get(socket) === response) this.set(socket, null);
    });
  }

  /** Closes connections whose clients do not read their response. Node's timeouts restart with each byte read. */
  #closeUnread(server: Server): void {
    const unreadSinceMs = new WeakMap<ServerResponse, number>();
    const timer = setInterval(() => {
      const nowMs = performance.now();
      for (const [socket, response] of this) {
        if (response === null || !response.writableEnded || response.writableFinished) continue;
        if (this.#openStreams.has(response)) continue;
        const sinceMs = unreadSinceMs.get(response);
        if (sinceMs === undefined) unreadSinceMs.set(response, nowMs);
        else if (nowMs - sinceMs > this.#unreadMs) socket.destroy();
      }
    }, CHECK_MS).unref();
    server.once('close', () => clearInterval(timer));
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Announces shutdown, and serves for half a second more. Await it before `close()` if clients may not know yet. */
    linger(): Promise<void>;
  }
}

/** How long connections stay open after shutdown has begun, or `linger` accepts new ones: a client may be sending. */
const LINGER_MS = 500;

/** The longest that `acceptWaiting` takes, on a server that gets new connections without a pause. */
const ACCEPT_MS = 500;

/** How long they stay open after `linger()`: the first request of a connection accepted last may still be on its way. */
const LAST_REQUESTS_MS = 100;

/** How long to wait for the rest of a request that has begun to arrive. It may never come. */
const HALF_SENT_MS = 2_000;

const CHECK_INTERVAL_MS = 20;

/**
 * Makes `app.close()` fail no request: the server accepts no new connections, finishes requests in flight, sends
 * `Connection: close` with every response, and closes idle connections. It cuts streams and unread responses that have
 * not finished `drainMs` after shutdown has begun.
 */
export function addDraining(app: FastifyInstance, connections: Connections, drainMs: number): void {
  let hasLingered = false;
  let begunAtMs: number | null = null;
  app.decorate('linger', async () => {
    connections.isDraining = true;
    begunAtMs = performance.now();
    if (!app.server.listening) return;
    await delay(LINGER_MS);
    hasLingered = true;
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (connections.isDraining) reply.header('connection', 'close');
    done();
  });
  app.addHook('preClose', async () => {
    connections.isDraining = true;
    begunAtMs ??= performance.now();
    if (!app.server.listening) return;
    const timer = setTimeout(() => cutRest(app, connections), begunAtMs + drainMs - performance.now());
    await drain(app.server, connections, hasLingered ? LAST_REQUESTS_MS : LINGER_MS);
    clearTimeout(timer);
  });
}

function cutRest({ log, openStreams }: FastifyInstance, connections: Connections): void {
  const streams = openStreams.cutAll('The service is stopping.');
  log.warn({ streams, others: connections.size - streams }, 'stopping: cut connections that are still in use');
  for (const socket of connections.keys()) socket.destroy();
}

/**
 * Accepts the connections that wait for it, until none came for two turns of the event loop, each of which accepts one:
 * the system resets those that still wait when the listener closes. With 24 clients that open a connection for each request,
 * each stop of one of three processes on a port reset 2 to 9. With this, one stop in ten resets any.
 */
async function acceptWaiting(server: Server): Promise<void> {
  const until = performance.now() + ACCEPT_MS;
  let hasAccepted = true;
  const note = (): void => {
    hasAccepted = true;
  };
  server.on('connection', note);
  while (hasAccepted && performance.now() < until) {
    hasAccepted = false;
    await nextTurn();
    await nextTurn();
  }
  server.off('connection', note);
}

async function drain(server: Server, connections: Connections, lingerMs: number): Promise<void> {
  await acceptWaiting(server);
  // The HTTP server's own close() would also close idle connections immediately.
  const ended = new Promise<'ended'>((resolve) => NetServer.prototype.close.call(server, () => resolve('ended')));
  // On a busy machine, what arrived meanwhile is read only in the turn after the timer.
  const wait = (ms: number): Promise<unknown> => Promise.race([ended, delay(ms).then(() => nextTurn())]);
  const halfSentUntil = performance.now() + HALF_SENT_MS;
  let outcome = await wait(lingerMs);
  while (outcome !== 'ended') {
    // Node considers a connection idle, and would cut its response, if only unread bytes remain.
    const isUnread = (response: ServerResponse | null): boolean =>
      response !== null && response.writableEnded && !response.writableFinished;
    if (!connections.values().some(isUnread)) server.closeIdleConnections();
    for (const [socket, response] of connections) {
      const isInFlight = response !== null && !response.closed;
      // Node counts a connection as busy until its first request has arrived completely.
      const isAwaited = socket.bytesRead > 0 && performance.now() < halfSentUntil;
      if (!isInFlight && !isAwaited && socket.writableLength === 0) socket.destroy();
    }
    outcome = await wait(CHECK_INTERVAL_MS);
  }
}

const healthSchema = objectSchema(
  { status: { type: 'string', const: 'ok', description: 'Always `ok`.' } },
  { $id: 'Health', description: 'The process responds.' },
);

/** `GET /health`: liveness of the process. Needs no key and uses no database. */
export function registerHealth(app: FastifyInstance): void {
  app.addSchema(healthSchema);
  app.get('/health', {
    schema: {
      operationId: 'getHealth',
      tags: ['Service'],
      summary: 'Check that the service responds',
      description: 'Needs no API key and does not use the database.',
      security: [],
      response: healthResponses(healthSchema),
    },
    handler: async (_request, reply) => reply.type(JSON_TYPE).send('{"status":"ok"}'),
  });
}
