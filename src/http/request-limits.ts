import type { FastifyInstance } from 'fastify';
import type { Partner } from '../access/scope.ts';
import { rateLimited } from './errors.ts';
import { finishHook } from './finish-hook.ts';
import type { KnownRequests } from './cached-responses.ts';
import type { RateLimitResult, RateLimiter } from './request-counts.ts';
import { findPartner } from './route-config.ts';

/**
 * 429: enforces each partner's requests per minute, and reports its remaining quota on every response
 * (draft-ietf-httpapi-ratelimit-headers-10).
 */
export function addRequestLimit(app: FastifyInstance, rateLimiter: RateLimiter, known: KnownRequests): void {
  app.addHook('onRequest', (request, reply, done) => {
    const partner = findPartner(request);
    if (partner === null) {
      done();
      return;
    }
    finishHook(
      known.get(request.raw)?.limitResult ?? rateLimiter.countRequest(partner),
      (limitResult) => {
        reply.headers(limitHeaders(partner, rateLimiter, limitResult));
        if (limitResult.isExceeded) throw rateLimited(limitResult.resetSeconds);
      },
      done,
    );
  });
}

/** The rate limit headers after a request. */
export function limitHeaders(
  { requestsPerMinute }: Partner,
  { windowSeconds }: RateLimiter,
  { remaining, resetSeconds }: RateLimitResult,
): { 'ratelimit-policy': string; ratelimit: string } {
  return {
    'ratelimit-policy': `"partner";q=${requestsPerMinute};w=${windowSeconds}`,
    ratelimit: `"partner";r=${remaining};t=${resetSeconds}`,
  };
}
