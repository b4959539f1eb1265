import type { FastifyInstance } from 'fastify';
import { methodNotAllowed, unknownPath, validationFailed } from './errors.ts';
import { readPath } from './request-target.ts';

/**
 * 404 of a path that is not there, and 405 of a method that it does not take. Both are decided
 * before anything of a body is looked at.
 */
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

/** What a GET of this address would meet; the published type leaves out that there may be nothing. */
function findReadable(app: FastifyInstance, url: string): { params: unknown } | null {
  return app.findRoute({ method: 'GET', url });
}

/** The router takes "/v1/contracts/" for a record whose id is empty. */
function hasEmptySegment(params: unknown): boolean {
  for (const name in params as Record<string, unknown>) {
    if ((params as Record<string, unknown>)[name] === '') return true;
  }
  return false;
}
