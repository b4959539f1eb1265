import type { FastifyInstance, FastifyRequest } from 'fastify';
import { validationFailed } from './errors.ts';
import { parseParameters } from './parameters.ts';

/** 400: what is wrong in the request's headers or its query. */
export function addRequestCheck(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    checkHost(request);
    checkExpectation(request);
    const { parameters } = request.routeOptions.config;
    if (parameters !== undefined) request.parameters = parseParameters(request.originalUrl, parameters);
  });
}

/** RFC 9112 section 3.2. Node's own check is off, since its answer has neither an id nor a body. */
function checkHost({ raw }: FastifyRequest): void {
  const hosts = raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1 || (hosts === 0 && raw.httpVersion === '1.1')) {
    throw validationFailed('A request of HTTP/1.1 needs one Host header.');
  }
}

function checkExpectation({ headers }: FastifyRequest): void {
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw validationFailed('The Expect header asks for something that is not done here: leave it out.');
  }
}
