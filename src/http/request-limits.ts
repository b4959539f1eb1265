import type { FastifyInstance } from 'fastify';
import { rateLimited } from './errors.ts';
import { goOnWith } from './go-on-with.ts';
import type { RequestLimits } from './request-counts.ts';
import { findPartner } from './route-config.ts';

/**
 * 429: holds each partner to its requests a minute, and tells it where it stands on every
 * answer (draft-ietf-httpapi-ratelimit-headers-10).
 */
export function addRequestLimit(app: FastifyInstance, limits: RequestLimits): void {
  app.addHook('onRequest', (request, reply, done) => {
    const partner = findPartner(request);
    if (partner === null) {
      done();
      return;
    }
    goOnWith(
      limits.countRequest(partner),
      ({ isExceeded, remaining, resetSeconds }) => {
        reply.header('ratelimit-policy', `"partner";q=${partner.requestsPerMinute};w=${limits.windowSeconds}`);
        reply.header('ratelimit', `"partner";r=${remaining};t=${resetSeconds}`);
        if (isExceeded) throw rateLimited(resetSeconds);
      },
      done,
    );
  });
}
