import type { FastifyInstance } from 'fastify';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Partner } from '../access/scope.ts';
import { networkOf } from './address-network.ts';
import { rateLimited } from './errors.ts';
import { findPartner } from './route-config.ts';

/** Failed authentications a minute from one address, after which they are answered with 429. */
export const FAILURES_PER_MINUTE = 60;

const WINDOW_SECONDS = 60;

/** Where a count stands after one more. */
export interface Allowance {
  readonly isExceeded: boolean;
  readonly remaining: number;
  /** Whole seconds until the count begins anew, at least 1. */
  readonly resetSeconds: number;
}

/** Counts requests by partner and failed authentications by address, in windows that begin with the first of them. */
export class RequestLimits {
  readonly windowSeconds: number;
  readonly #requests: RateLimiterMemory;
  readonly #failures: RateLimiterMemory;

  constructor(windowSeconds = WINDOW_SECONDS) {
    this.windowSeconds = windowSeconds;
    // The quotas are compared here: each partner has its own, and it may change within a window.
    const options = { points: Number.MAX_SAFE_INTEGER, duration: windowSeconds };
    this.#requests = new RateLimiterMemory({ ...options, keyPrefix: 'requests' });
    this.#failures = new RateLimiterMemory({ ...options, keyPrefix: 'failures' });
  }

  /** Counts one request of a partner, whichever of its keys it came with. */
  countRequest({ id, requestsPerMinute }: Partner): Promise<Allowance> {
    return count(this.#requests, String(id), requestsPerMinute);
  }

  /** Counts one failed authentication from an address, IPv6 by /64 network. */
  countFailure(address: string): Promise<Allowance> {
    return count(this.#failures, networkOf(address), FAILURES_PER_MINUTE);
  }
}

async function count(limiter: RateLimiterMemory, key: string, quota: number): Promise<Allowance> {
  const { consumedPoints, msBeforeNext } = await limiter.consume(key);
  return {
    isExceeded: consumedPoints > quota,
    remaining: Math.max(0, quota - consumedPoints),
    resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
  };
}

/**
 * 429: holds each partner to its requests a minute, and tells it where it stands on every
 * answer (draft-ietf-httpapi-ratelimit-headers-10).
 */
export function addRequestLimit(app: FastifyInstance, limits: RequestLimits): void {
  app.addHook('onRequest', async (request, reply) => {
    const partner = findPartner(request);
    if (partner === null) return;
    const { isExceeded, remaining, resetSeconds } = await limits.countRequest(partner);
    reply.header('RateLimit-Policy', `"partner";q=${partner.requestsPerMinute};w=${limits.windowSeconds}`);
    reply.header('RateLimit', `"partner";r=${remaining};t=${resetSeconds}`);
    if (isExceeded) throw rateLimited(resetSeconds);
  });
}
