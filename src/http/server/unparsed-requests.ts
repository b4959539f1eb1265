import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { methodNotAllowed, renderError, validationFailed, type ApiError } from '../response/errors.ts';
import { createRequestId, JSON_TYPE, REQUEST_ID_HEADER, SECURITY_HEADERS } from '../response/send-text.ts';
import { type Connections, MAX_HEAD_BYTES, STATUS_CODES } from './server.ts';

/** How long a refused connection is still read from, so that a reset does not overtake the response. */
const LINGER_MS = 1_000;

/**
 * Creates the handlers of requests that Node's HTTP server would otherwise respond to by itself, bypassing all hooks:
 * those that its parser rejects or that time out while arriving, and CONNECT. They refuse all.
 */
export function unparsedRequests(connections: Connections, logger: Pick<Logger, 'info'>) {
  const refused = new WeakSet<Duplex>();
  const send = (socket: Duplex, error: ApiError, reason: string): void => {
    const requestId = createRequestId();
    logger.info({ requestId, status: error.status, code: error.code, reason }, 'request refused unread');
    socket.on('error', () => undefined);
    socket.end(renderResponse(error, requestId));
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  };
  return {
    refuse({ code, message }: NodeJS.ErrnoException, socket: Socket): void {
      if (refused.has(socket)) return;
      refused.add(socket);
      const response = connections.get(socket) ?? null;
      const refuseOrEnd = (): void => {
        // An error in a request's body gets no response of its own: the request already has one.
        if (code === 'ECONNRESET' || !socket.writable || response?.req.complete === false) socket.destroy();
        else
          send(socket, validationFailed(MESSAGES.get(code) ?? 'The request is not valid HTTP/1.1.'), code ?? message);
      };
      // The previous request on this connection is responded to first.
      if (response === null || response.writableFinished || code === 'ECONNRESET') refuseOrEnd();
      else response.once('close', refuseOrEnd);
    },
    refuseConnect: (socket: Duplex): void => send(socket, methodNotAllowed(), 'CONNECT'),
  };
}

/** By the error's code. */
const MESSAGES = new Map<string | undefined, string>([
  ['ERR_HTTP_REQUEST_TIMEOUT', 'The request did not arrive in time.'],
  ['HPE_HEADER_OVERFLOW', `The request line and headers are longer than ${MAX_HEAD_BYTES} bytes.`],
]);

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
  const lines = Object.entries(headers).map((header) => header.join(': '));
  return [`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`, ...lines, '', body].join('\r\n');
}
