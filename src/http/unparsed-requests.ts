import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.ts';
import { JSON_TYPE } from './error-handling.ts';
import { methodNotAllowed, renderError, validationFailed, type ApiError } from './errors.ts';
import { REQUEST_ID_HEADER, requestIds } from './request-id.ts';
import { SECURITY_HEADERS } from './security-headers.ts';
import { MAX_HEAD_BYTES } from './server-options.ts';

/** How long a refused connection is still read from, so that a reset does not overtake the response. */
const LINGER_MS = 1_000;

/**
 * Handles requests that Node's HTTP server would otherwise respond to by itself, bypassing all hooks: those that its
 * parser rejects, that time out while arriving, that have an Expect header, and CONNECT.
 */
export function addUnparsedRequests(app: FastifyInstance, connections: Connections): void {
  const { server } = app;
  const answered = new WeakSet<Duplex>();
  const makeId = requestIds();

  const route = (request: IncomingMessage, response: ServerResponse): void => app.routing(request, response);
  // Bodies are not accepted, so "100 Continue" is never sent; the regular handler responds immediately.
  server.on('checkContinue', route);
  server.on('checkExpectation', route);

  const refuse = (socket: Duplex, error: ApiError, reason: string): void => {
    const requestId = makeId();
    app.log.info({ requestId, status: error.status, reason }, 'request refused unread');
    socket.on('error', () => undefined);
    socket.end(renderResponse(error, requestId));
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  };

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (answered.has(socket)) return;
    answered.add(socket);
    const response = connections.get(socket) ?? null;
    const refuseOrEnd = (): void => {
      // An error in a request's body gets no response of its own: the request already has one.
      if (error.code === 'ECONNRESET' || !socket.writable || response?.req.complete === false) socket.destroy();
      else refuse(socket, validationFailed(refusalMessage(error.code)), error.code ?? error.message);
    };
    // The previous request on this connection is responded to first.
    if (response === null || response.writableFinished || error.code === 'ECONNRESET') refuseOrEnd();
    else response.once('close', refuseOrEnd);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    refuse(socket, methodNotAllowed(), 'CONNECT');
  });
}

function refusalMessage(code: string | undefined): string {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'The request did not arrive in time.';
    case 'HPE_HEADER_OVERFLOW':
      return `The address and the headers are too long: together they may have ${MAX_HEAD_BYTES} bytes.`;
    default:
      return 'The request is not one of HTTP/1.1.';
  }
}

function renderResponse(error: ApiError, requestId: string): string {
  const body = renderError(error, requestId);
  const headers = {
    [REQUEST_ID_HEADER]: requestId,
    'Content-Type': JSON_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    ...SECURITY_HEADERS,
    Date: new Date().toUTCString(),
    Connection: 'close',
    ...error.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`, ...lines, '', body].join('\r\n');
}
