import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { validationFailed } from './errors.ts';
import { parseParameters } from './parameters.ts';
import { countHeader } from './raw-headers.ts';

/** 400: what is wrong in the request's headers or its query. */
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
 * Makes a request whose end nobody can tell the last one of its connection, whatever its answer
 * is. To be added before all that refuses.
 */
export function endUnclearConnections(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (hasUnknownEnd(request.raw.headers)) reply.header('connection', 'close');
    done();
  });
}

/** RFC 9112 section 6.3. Node's parser takes what follows for a body without end. */
function hasUnknownEnd({ 'transfer-encoding': encoding }: IncomingHttpHeaders): boolean {
  return encoding !== undefined && encoding.toLowerCase() !== 'chunked';
}

/** What is wrong with a request whatever its address is; null for nothing. */
export function problemOfHead({ rawHeaders, httpVersion, headers }: IncomingMessage): string | null {
  // RFC 9112 section 3.2. Node's own check is off, since its answer has neither an id nor a body.
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
