import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';

export const REQUEST_ID_HEADER = 'X-Request-ID';

// 128 random bits: no two requests ever share an id, and one cannot be guessed from another.
const ID_BYTES = 16;

/** The id of a request, made here and never taken from the client: it is quoted to support and looked up in the log. */
export function makeRequestId(): string {
  return `req_${randomBytes(ID_BYTES).toString('base64url')}`;
}

/** Puts the request's id on its answer before anything can go wrong. */
export function addRequestId(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header(REQUEST_ID_HEADER, request.id);
  });
}
