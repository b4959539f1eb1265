import type { FastifyInstance } from 'fastify';
import { methodNotAllowed, unknownPath, validationFailed } from './errors.ts';
import { readPath } from './request-target.ts';

/** 404 for an unknown path, 405 for an unsupported method. Runs before anything reads the body. */
export function addPathCheck(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (!request.is404 && !hasEmptySegment(request.params)) {
      done();
      return;
    }
    if (readPath(request.originalUrl) === null) {
      throw validationFailed(
        'The address cannot be read: write it as percent-encoded UTF-8, without %00 and without #.',
      );
    }
    const readable = findReadable(app, request.url);
    throw readable === null || hasEmptySegment(readable.params) ? unknownPath() : methodNotAllowed();
  });
}

/** The route that a GET of this URL would match. The published type omits null. */
function findReadable(app: FastifyInstance, url: string): { params: unknown } | null {
  return app.findRoute({ method: 'GET', url });
}

/** The router matches "/v1/contracts/" as a record with an empty ID. */
function hasEmptySegment(params: unknown): boolean {
  for (const name in params as Record<string, unknown>) {
    if ((params as Record<string, unknown>)[name] === '') return true;
  }
  return false;
}
