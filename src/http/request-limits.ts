import type { FastifyInstance } from 'fastify';
import type { Partner } from '../access/scope.ts';
import { rateLimited } from './errors.ts';
import { goOnWith } from './go-on-with.ts';
import type { KnownRequests } from './kept-answers.ts';
import type { Allowance, RequestLimits } from './request-counts.ts';
import { findPartner } from './route-config.ts';

/**
 * 429: enforces each partner's requests per minute, and reports its remaining quota on every response
 * (draft-ietf-httpapi-ratelimit-headers-10).
 */
export function addRequestLimit(app: FastifyInstance, limits: RequestLimits, known: KnownRequests): void {
  app.addHook('onRequest', (request, reply, done) => {
    const partner = findPartner(request);
    if (partner === null) {
      done();
      return;
    }
    goOnWith(
      known.get(request.raw)?.allowance ?? limits.countRequest(partner),
      (allowance) => {
        reply.headers(limitHeaders(partner, limits, allowance));
        if (allowance.isExceeded) throw rateLimited(allowance.resetSeconds);
      },
      done,
    );
  });
}

/** The rate limit headers after a request. */
export function limitHeaders(
  { requestsPerMinute }: Partner,
  { windowSeconds }: RequestLimits,
  { remaining, resetSeconds }: Allowance,
): { 'ratelimit-policy': string; ratelimit: string } {
  return {
    'ratelimit-policy': `"partner";q=${requestsPerMinute};w=${windowSeconds}`,
    ratelimit: `"partner";r=${remaining};t=${resetSeconds}`,
  };
}
