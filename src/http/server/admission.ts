import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { throttleWarning } from '../../throttle-warning.ts';
import { overloaded } from '../response/errors.ts';

/**
 * Requests that can be in flight at once. PostgreSQL runs ten of them, the rest queue for a connection: at a few
 * milliseconds each, the last in the queue waits about 100 ms.
 */
const MAX_IN_FLIGHT = 256;

/** Holds the permits of requests whose key is still being looked up. */
export const NOBODY_YET = 0;

declare module 'fastify' {
  interface FastifyInstance {
    admission: Admission;
  }
  interface FastifyRequest {
    /** The id of the partner whose permit this request holds, or `NOBODY_YET`; null if it holds none. */
    permitHolder: number | null;
  }
}

/**
 * Limits how many requests this process accepts at once. Those beyond its capacity get 429 immediately, so accepted
 * requests stay fast, and a partner with many connections cannot delay the others.
 *
 * Not @fastify/under-pressure: its mean delay refuses all partners alike, also for a while after the overload.
 *
 * A request holds its permit until its response is produced, not until the client has read it, since clients decide how
 * fast they read. It keeps the permit even if the client disconnects, because the database query still runs.
 */
export class Admission {
  readonly #permits = new FairSemaphore<number>(MAX_IN_FLIGHT);
  readonly #warn: () => void;
  refused = 0;

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#warn = throttleWarning((refused) =>
      logger.warn({ refused }, 'requests are refused with 429: more than this process carries'),
    );
  }

  /** Also call it for each request that is refused for overload elsewhere. */
  countRefusal(): void {
    this.refused += 1;
    this.#warn();
  }

  /** @throws ApiError 429 if no permit is left for the holder. */
  enter(request: FastifyRequest, holder = request.partner.id): void {
    if (!this.#permits.acquire(holder)) {
      this.countRefusal();
      throw overloaded();
    }
    request.permitHolder = holder;
  }

  leave(request: FastifyRequest): void {
    if (request.permitHolder !== null) this.#permits.release(request.permitHolder);
    request.permitHolder = null;
  }
}

/**
 * A fair semaphore: a holder can take another permit only while it holds fewer than are free. A lone holder gets half
 * of all permits, two holders a third each, and some are always left for a newcomer. (Dynamic thresholds, as switches
 * use to share memory among queues: Choudhury and Hahne, 1998.)
 */
export class FairSemaphore<Holder> {
  readonly #total: number;
  readonly #held = new Map<Holder, number>();
  #taken = 0;

  constructor(total: number) {
    this.#total = total;
  }

  /** Takes a permit, which must be released; false if `who` cannot have another one. */
  acquire(who: Holder): boolean {
    const held = this.#held.get(who) ?? 0;
    if (held >= this.#total - this.#taken) return false;
    this.#held.set(who, held + 1);
    this.#taken += 1;
    return true;
  }

  release(who: Holder): void {
    const held = this.#held.get(who) ?? 0;
    if (held === 0) throw new Error('a permit was released that was not taken');
    if (held === 1) this.#held.delete(who);
    else this.#held.set(who, held - 1);
    this.#taken -= 1;
  }
}
