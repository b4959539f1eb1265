import ipaddr from 'ipaddr.js';
import type { Partner } from '../access/scope.ts';

/** Leading groups of an IPv6 address that are its /64 network. */
const NETWORK_GROUPS = 4;

type CountedPartner = Pick<Partner, 'id' | 'name' | 'requestsPerMinute'>;

/** The limits on partners' requests and on failed authentications, with counts of what they refused. */
export class RequestLimits {
  readonly #rateLimiter: RateLimiter;
  /** Requests over the partner's limit, by partner name. */
  readonly limitedRequests = new Map<string, number>();
  /** Failed authentications: `refused` got 401, `limited` got 429 after too many from one address. */
  readonly failures = { refused: 0, limited: 0 };

  constructor(rateLimiter: RateLimiter) {
    this.#rateLimiter = rateLimiter;
  }

  /** Counts one request of a partner, with any of its keys. */
  async countRequest({ id, name, requestsPerMinute }: CountedPartner): Promise<RateLimitResult> {
    const result = await this.#rateLimiter.count(`partner:${id}`, requestsPerMinute);
    if (result.isExceeded) this.limitedRequests.set(name, (this.limitedRequests.get(name) ?? 0) + 1);
    return result;
  }

  /** Counts `units` more for a request that was counted as one and costs more. */
  async countMore({ id, requestsPerMinute }: CountedPartner, units: number): Promise<RateLimitResult> {
    return this.#rateLimiter.count(`partner:${id}`, requestsPerMinute, units);
  }

  /** The headers after counting a request (draft-ietf-httpapi-ratelimit-headers-10). */
  headersFor({ requestsPerMinute }: CountedPartner, { remaining, resetSeconds }: RateLimitResult) {
    return {
      'ratelimit-policy': `"partner";q=${requestsPerMinute};w=${this.#rateLimiter.windowSeconds}`,
      ratelimit: `"partner";r=${remaining};t=${resetSeconds}`,
    };
  }

  /** Counts one failed authentication from an address, IPv6 by /64 network. */
  async countFailure(address: string): Promise<RateLimitResult> {
    const result = await this.#rateLimiter.count(`failures:${networkOf(address)}`, FAILURES_PER_MINUTE);
    this.failures[result.isExceeded ? 'limited' : 'refused'] += 1;
    return result;
  }
}

/** The network to count by, an IPv4 address or an IPv6 /64: one client can use any of a /64's 2^64 addresses. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  // Also turns an IPv4-mapped IPv6 address into the IPv4 address.
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const groups = parsed.parts.slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`;
}

/** Failed authentications per minute and address; further failures get 429. */
export const FAILURES_PER_MINUTE = 60;

export const WINDOW_SECONDS = 60;

/** The state of a rate limit after counting one more request. */
export interface RateLimitResult {
  readonly isExceeded: boolean;
  readonly remaining: number;
  /** Whole seconds until the window resets, at least 1. */
  readonly resetSeconds: number;
}

/** Counts requests by key, in fixed windows that begin with the first request of the key. Never fails. */
export interface RateLimiter {
  readonly windowSeconds: number;
  /**
   * Counts one request as `units`, also one over the limit. A result that is known in this process is returned synchronously.
   *
   * @param quota requests per window. Each partner has its own, and it can change within a window.
   */
  count(key: string, quota: number, units?: number): RateLimitResult | Promise<RateLimitResult>;
}

/** Timestamps are fractional, so (timestamp + 60 s) - timestamp can be slightly more than 60 s. */
const ROUNDING_SECONDS = 1e-6;

export function rateLimitResult(count: number, quota: number, msLeft: number): RateLimitResult {
  return {
    isExceeded: count > quota,
    remaining: Math.max(0, quota - count),
    resetSeconds: Math.max(1, Math.ceil(msLeft / 1000 - ROUNDING_SECONDS)),
  };
}

/**
 * Counts in this process's memory. Ended windows are dropped when another begins, so no timer is needed and no key's
 * count can evict another's.
 *
 * Not a library such as rate-limiter-flexible: it returns promises, so no request could be decided synchronously, and it
 * reads the wall clock, which can be set back.
 */
export class InMemoryRateLimiter implements RateLimiter {
  readonly windowSeconds: number;
  /** In the order in which they began, which is also the order in which they end. */
  readonly #windows = new Map<string, { readonly endsAtMs: number; count: number }>();

  constructor(windowSeconds = WINDOW_SECONDS) {
    this.windowSeconds = windowSeconds;
  }

  count(key: string, quota: number, units = 1): RateLimitResult {
    const nowMs = performance.now();
    let window = this.#windows.get(key);
    if (window === undefined || window.endsAtMs <= nowMs) {
      for (const [ended, { endsAtMs }] of this.#windows) {
        if (endsAtMs > nowMs) break;
        this.#windows.delete(ended);
      }
      window = { endsAtMs: nowMs + this.windowSeconds * 1000, count: 0 };
      this.#windows.set(key, window);
    }
    window.count += units;
    return rateLimitResult(window.count, quota, window.endsAtMs - nowMs);
  }
}
