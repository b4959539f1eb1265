import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Partner } from '../access/scope.ts';
import { rateLimited } from './errors.ts';
import { goOnWith } from './go-on-with.ts';
import type { Allowance, RequestLimits } from './request-counts.ts';
import { findPartner } from './route-config.ts';

/** Requests that were counted, and found to be too many, ahead of the framework: none is counted twice. */
const countedBefore = new WeakMap<IncomingMessage, Allowance>();

/** Says where a request stands that was counted ahead of the framework, which is to refuse it. */
export function setAllowance(request: IncomingMessage, allowance: Allowance): void {
  countedBefore.set(request, allowance);
}

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
      countedBefore.get(request.raw) ?? limits.countRequest(partner),
      (allowance) => {
        reply.headers(limitHeaders(partner, limits, allowance));
        if (allowance.isExceeded) throw rateLimited(allowance.resetSeconds);
      },
      done,
    );
  });
}

/** Where a partner stands after a request. */
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
