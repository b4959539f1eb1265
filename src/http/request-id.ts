import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';

export const REQUEST_ID_HEADER = 'x-request-id';

// 22 characters of 6 bits: 132 bits, so IDs do not collide and cannot be guessed from one another.
const ID_LENGTH = 22;

/** Random bytes are generated for 256 IDs at once: one call per ID would cost more than everything else here. */
const IDS_IN_BLOCK = 256;
const BLOCK_BYTES = (IDS_IN_BLOCK * ID_LENGTH * 6) / 8;

/**
 * Generates request IDs. An ID sent by the client is never used, because IDs are quoted to support and looked up in the
 * log.
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

/** Sets the request ID header before anything can fail. */
export function addRequestId(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(REQUEST_ID_HEADER, request.id);
    done();
  });
}
