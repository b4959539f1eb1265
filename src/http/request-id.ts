import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';

export const REQUEST_ID_HEADER = 'x-request-id';

// Of 6 bits each, so 132: no two requests ever share an id, and one cannot be guessed from another.
const ID_LENGTH = 22;

/** Random bits are drawn for so many ids at once: a draw for each would take longer than all the rest of it. */
const IDS_IN_BLOCK = 256;
const BLOCK_BYTES = (IDS_IN_BLOCK * ID_LENGTH * 6) / 8;

/**
 * Makes the ids of requests, here and never of what a client sends: they are quoted to support
 * and looked up in the log.
 */
export function requestIds(): () => string {
  let block = '';
  let next = 0;
  return () => {
    if (next === block.length) {
      block = randomBytes(BLOCK_BYTES).toString('base64url');
      next = 0;
    }
    next += ID_LENGTH;
    return `req_${block.slice(next - ID_LENGTH, next)}`;
  };
}

/** Puts the request's id on its answer before anything can go wrong. */
export function addRequestId(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(REQUEST_ID_HEADER, request.id);
    done();
  });
}
