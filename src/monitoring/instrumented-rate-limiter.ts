import type { Partner } from '../access/scope.ts';
import type { RateLimitResult, RateLimiter } from '../http/request-counts.ts';

/** Instruments rate limits with counts of what they refused. */
export class InstrumentedRateLimiter implements RateLimiter {
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

  countRequest(
    partner: Pick<Partner, 'id' | 'name' | 'requestsPerMinute'>,
  ): RateLimitResult | Promise<RateLimitResult> {
    const limitResult = this.#rateLimiter.countRequest(partner);
    if (limitResult instanceof Promise) return limitResult.then((later) => this.#noteRequest(partner.name, later));
    return this.#noteRequest(partner.name, limitResult);
  }

  countFailure(address: string): RateLimitResult | Promise<RateLimitResult> {
    const limitResult = this.#rateLimiter.countFailure(address);
    return limitResult instanceof Promise
      ? limitResult.then((later) => this.#noteFailure(later))
      : this.#noteFailure(limitResult);
  }

  #noteRequest(partner: string, limitResult: RateLimitResult): RateLimitResult {
    if (limitResult.isExceeded) this.#limited.set(partner, (this.#limited.get(partner) ?? 0) + 1);
    return limitResult;
  }

  #noteFailure(limitResult: RateLimitResult): RateLimitResult {
    this.#failures += 1;
    if (limitResult.isExceeded) this.#limitedFailures += 1;
    return limitResult;
  }
}
