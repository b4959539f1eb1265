import ipaddr from 'ipaddr.js';
import type { Partner } from '../access/scope.ts';
import { FAILURES_PER_MINUTE, type RateLimiter, type RateLimitResult } from './rate-limiter.ts';

/** Leading groups of an IPv6 address that are its /64 network. */
const NETWORK_GROUPS = 4;

/** The limits on partners' requests and on failed authentications, with counts of what they refused. */
export class RequestLimits {
  readonly #rateLimiter: RateLimiter;
  readonly #limited = new Map<string, number>();
  #failures = 0;
  #limitedFailures = 0;

  constructor(rateLimiter: RateLimiter) {
    this.#rateLimiter = rateLimiter;
  }

  get windowSeconds(): number {
    return this.#rateLimiter.windowSeconds;
  }

  /** Requests over the partner's limit, by partner name. */
  get limitedRequests(): ReadonlyMap<string, number> {
    return this.#limited;
  }

  /** Failed authentications: `refused` got 401, `limited` got 429 after too many from one address. */
  get failures(): { readonly refused: number; readonly limited: number } {
    return { refused: this.#failures - this.#limitedFailures, limited: this.#limitedFailures };
  }

  /** Counts a request of a partner that this process can accept on its own; null, and nothing is counted, for others. */
  tryCountRequest({ id, requestsPerMinute }: Pick<Partner, 'id' | 'requestsPerMinute'>): RateLimitResult | null {
    return this.#rateLimiter.tryCount(`partner:${id}`, requestsPerMinute);
  }

  /** Counts one request of a partner, with any of its keys. */
  async countRequest({
    id,
    name,
    requestsPerMinute,
  }: Pick<Partner, 'id' | 'name' | 'requestsPerMinute'>): Promise<RateLimitResult> {
    const result = await this.#rateLimiter.count(`partner:${id}`, requestsPerMinute);
    if (result.isExceeded) this.#limited.set(name, (this.#limited.get(name) ?? 0) + 1);
    return result;
  }

  /** Counts one failed authentication from an address, IPv6 by /64 network. */
  async countFailure(address: string): Promise<RateLimitResult> {
    const result = await this.#rateLimiter.count(`failures:${networkOf(address)}`, FAILURES_PER_MINUTE);
    this.#failures += 1;
    if (result.isExceeded) this.#limitedFailures += 1;
    return result;
  }
}

/**
 * The network by which a client's requests are counted: an IPv4 address, or the /64 network of an IPv6 address, because
 * one client can use any of a /64's 2^64 addresses.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  // Also turns an IPv4-mapped IPv6 address into the IPv4 address.
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const groups = parsed.parts.slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`;
}

/** The rate limit headers after a request, as alternating names and values (draft-ietf-httpapi-ratelimit-headers-10). */
export function limitHeaders(
  { requestsPerMinute }: Partner,
  { windowSeconds }: Pick<RequestLimits, 'windowSeconds'>,
  { remaining, resetSeconds }: RateLimitResult,
): readonly string[] {
  return [
    ...['ratelimit-policy', `"partner";q=${requestsPerMinute};w=${windowSeconds}`],
    ...['ratelimit', `"partner";r=${remaining};t=${resetSeconds}`],
  ];
}
