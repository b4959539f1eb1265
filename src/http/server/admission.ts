import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { throttleWarning } from '../../throttle-warning.ts';
import { overloaded } from '../response/errors.ts';

/**
 * Requests that can be in flight at once. PostgreSQL runs ten of them, the rest queue for a connection: at a few
 * milliseconds each, the last in the queue waits about 100 ms.
 */
const MAX_IN_FLIGHT = 256;

/** Permit holder of requests whose key is still being looked up. */
const NOBODY_YET = 0;

/** An overload is logged when it begins, then at this interval while it lasts. */
const LOG_INTERVAL_MS = 10_000;

declare module 'fastify' {
  interface FastifyInstance {
    admission: Admission;
  }
  interface FastifyRequest {
    /** The id of the partner whose permit this request holds; null if it holds none. */
    permitHolder: number | null;
  }
}

/**
 * Limits how many requests this process accepts at once. Those beyond its capacity get 429 immediately, so accepted
 * requests stay fast, and a partner with many connections cannot delay the others. (The rate limit bounds a partner's
 * requests per minute, but neither how many of them arrive at once nor the sum of all partners.)
 *
 * Two bounds, because requests wait in two places: in flight for a connection to PostgreSQL (`FairSemaphore`), and in
 * the event-loop tick that read them, in which SQLite serves them one after the other (`TickBudget`).
 * Not @fastify/under-pressure: its mean delay refuses all partners alike, also for a while after the overload.
 *
 * A request holds its permit until its response is produced, not until the client has read it, since clients decide how
 * fast they read. It keeps the permit even if the client disconnects, because the database query still runs.
 */
export class Admission {
  readonly #permits = new FairSemaphore<number>(MAX_IN_FLIGHT);
  readonly #tickBudget = new TickBudget<number>();
  readonly #warn: () => void;
  #refused = 0;

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#warn = throttleWarning(LOG_INTERVAL_MS, (refused) =>
      logger.warn({ refused }, 'requests are refused with 429: more than this process carries'),
    );
  }

  get refused(): number {
    return this.#refused;
  }

  /** Call for each request refused for overload, whether here or elsewhere. */
  countRefusal(): void {
    this.#refused += 1;
    this.#warn();
  }

  /** Call for each request that arrives. */
  beginTick(): void {
    this.#tickBudget.begin();
  }

  /** @throws ApiError 429 if no permit is left for key lookups. */
  beginLookUp(): void {
    this.#acquire(NOBODY_YET);
  }

  endLookUp(): void {
    this.#permits.release(NOBODY_YET);
  }

  /** @throws ApiError 429 if the tick budget or the permits are exhausted for the request's partner. */
  enter(request: FastifyRequest): void {
    const { id } = request.partner;
    if (!this.#tickBudget.hasTimeFor(id)) throw overloaded();
    this.#acquire(id);
    request.permitHolder = id;
  }

  leave(request: FastifyRequest): void {
    if (request.permitHolder !== null) this.#permits.release(request.permitHolder);
    request.permitHolder = null;
  }

  #acquire(who: number): void {
    if (!this.#permits.acquire(who)) throw overloaded();
  }
}

/** Returns each request's permit when its response is produced. */
export function leaveWhenSent(app: FastifyInstance, admission: Admission): void {
  app.decorateRequest('permitHolder', null);
  app.addHook('onSend', (request, _reply, _payload, done) => {
    admission.leave(request);
    done();
  });
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

/**
 * After FAIR_MS of an event-loop tick, partners that already had an equal share of it are refused; after FULL_MS, all
 * are. A request that arrived when the tick began has waited that long: clients do not notice 50 ms, and hardly 150 ms.
 */
const FAIR_MS = 50;
const FULL_MS = 150;

/** A tick always serves this many. If it is late after fewer, the cause is a paused process or machine, not load. */
const ALWAYS_SERVED = 8;

/**
 * The time budget of one event-loop tick, in which all requests that have arrived are read and served one after the
 * other. The time since the tick began is the least that the next request in it has waited, and is known immediately. A
 * mean of delays over the last second would penalize requests that come after the overload.
 *
 * Permits held until the end of the tick would need no clock, but the tick could take as long as 128 slow requests:
 * next to a flood on SQLite, the p99 of a modest client was 0.7 to 1.7 s with them, 0.25 to 0.35 s with this budget.
 */
export class TickBudget<Partner> {
  readonly #served = new Map<Partner, number>();
  #total = 0;
  #beganAtMs: number | null = null;

  /** Call for everything that arrives on a socket: the first call begins the tick. */
  begin(): void {
    if (this.#beganAtMs !== null) return;
    this.#beganAtMs = performance.now();
    setImmediate(() => this.#end());
  }

  /** Whether this tick has time for one more request; if so, the request is counted as served. */
  hasTimeFor(partner: Partner): boolean {
    if (this.#beganAtMs === null) return true;
    const served = this.#served.get(partner) ?? 0;
    const lateMs = performance.now() - this.#beganAtMs;
    const isFull = lateMs > FULL_MS || (lateMs > FAIR_MS && served * this.#served.size >= this.#total);
    if (isFull && this.#total >= ALWAYS_SERVED) return false;
    this.#served.set(partner, served + 1);
    this.#total += 1;
    return true;
  }

  #end(): void {
    this.#served.clear();
    this.#total = 0;
    this.#beganAtMs = null;
  }
}
