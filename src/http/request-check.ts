import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { validationFailed } from './errors.ts';
import { parseParameters } from './parameters.ts';
import { countHeader } from './raw-headers.ts';

/** 400: checks a request's headers and query. */
export function addRequestCheck(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const problem = problemOfHead(request.raw);
    if (problem !== null) throw validationFailed(problem);
    const { parameters } = request.routeOptions.config;
    if (parameters !== undefined) request.parameters = parseParameters(request.originalUrl, parameters);
    done();
  });
}

/**
 * Closes the connection after a request whose end cannot be determined, whatever its response. Must be added before any
 * hook that can reject the request.
 */
export function endUnclearConnections(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (hasUnknownEnd(request.raw.headers)) reply.header('connection', 'close');
    done();
  });
}

/** RFC 9112 section 6.3. Node's parser treats everything that follows as an endless body. */
function hasUnknownEnd({ 'transfer-encoding': encoding }: IncomingHttpHeaders): boolean {
  return encoding !== undefined && encoding.toLowerCase() !== 'chunked';
}

/** Describes what is wrong with a request's headers, independent of its URL; null if nothing is. */
export function problemOfHead({ rawHeaders, httpVersion, headers }: IncomingMessage): string | null {
  // RFC 9112 section 3.2. Node's own check is off because its response has neither a request ID nor a body.
  const hosts = countHeader(rawHeaders, 'host');
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) return 'A request of HTTP/1.1 needs one Host header.';
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    return 'The Expect header asks for something that is not done here: leave it out.';
  }
  if (hasUnknownEnd(headers)) {
    return 'The Transfer-Encoding header names an encoding that is not known here: leave it out.';
  }
  return null;
}
