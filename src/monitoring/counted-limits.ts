import type { Partner } from '../access/scope.ts';
import type { Allowance, RequestLimits } from '../http/request-counts.ts';

/** Instruments rate limits with counts of what they refused. */
export class CountedLimits implements RequestLimits {
  readonly #limits: RequestLimits;
  readonly #limited = new Map<string, number>();
  #failures = 0;
  #limitedFailures = 0;

  constructor(limits: RequestLimits) {
    this.#limits = limits;
  }

  get windowSeconds(): number {
    return this.#limits.windowSeconds;
  }

  /** Requests over the partner's limit, by partner name. */
  get limitedRequests(): ReadonlyMap<string, number> {
    return this.#limited;
  }

  /** Failed authentications: `refused` got 401, `limited` got 429 after too many from one address. */
  get failures(): { readonly refused: number; readonly limited: number } {
    return { refused: this.#failures - this.#limitedFailures, limited: this.#limitedFailures };
  }

  countRequest(partner: Pick<Partner, 'id' | 'name' | 'requestsPerMinute'>): Allowance | Promise<Allowance> {
    const allowance = this.#limits.countRequest(partner);
    if (allowance instanceof Promise) return allowance.then((later) => this.#noteRequest(partner.name, later));
    return this.#noteRequest(partner.name, allowance);
  }

  countFailure(address: string): Allowance | Promise<Allowance> {
    const allowance = this.#limits.countFailure(address);
    return allowance instanceof Promise
      ? allowance.then((later) => this.#noteFailure(later))
      : this.#noteFailure(allowance);
  }

  #noteRequest(partner: string, allowance: Allowance): Allowance {
    if (allowance.isExceeded) this.#limited.set(partner, (this.#limited.get(partner) ?? 0) + 1);
    return allowance;
  }

  #noteFailure(allowance: Allowance): Allowance {
    this.#failures += 1;
    if (allowance.isExceeded) this.#limitedFailures += 1;
    return allowance;
  }
}
