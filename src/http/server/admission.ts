import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { throttleWarning } from '../../throttle-warning.ts';
import { overloaded } from '../response/errors.ts';
import { FairSemaphore } from './fair-semaphore.ts';
import { TickBudget } from './tick-budget.ts';

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
 * Two bounds, because requests wait in two places: in flight for a connection to PostgreSQL (`FairSemaphore`), and in the
 * event-loop tick that read them, in which SQLite serves them one after the other (`TickBudget`). Not
 * @fastify/under-pressure: its mean delay refuses all partners alike, also for a while after the overload.
 *
 * A request holds its permit until its response is produced, not until the client has read it, since clients decide how
 * fast they read. It keeps the permit even if the client disconnects, because the database query still runs.
 */
export class Admission {
  readonly #permits = new FairSemaphore<number>(MAX_IN_FLIGHT);
  readonly #tickBudget = new TickBudget<number>();
  readonly #onRefused: () => void;
  #refused = 0;

  constructor(onRefused: () => void) {
    this.#onRefused = onRefused;
  }

  /** Requests refused since the process started. */
  get refused(): number {
    return this.#refused;
  }

  /** Call for each request refused for overload, whether here or elsewhere. */
  noticeRefusal(): void {
    this.#refused += 1;
    this.#onRefused();
  }

  /** Call for each request that arrives. */
  noticeArrival(): void {
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

/** Creates the admission control, which logs a warning when requests are refused. */
export function makeAdmission(logger: Pick<Logger, 'warn'>): Admission {
  return new Admission(
    throttleWarning(LOG_INTERVAL_MS, (refused) =>
      logger.warn({ refused }, 'requests are refused with 429: more than this process carries'),
    ),
  );
}

/** Returns each request's permit when its response is produced. */
export function leaveWhenSent(app: FastifyInstance, admission: Admission): void {
  app.decorateRequest('permitHolder', null);
  app.addHook('onSend', (request, _reply, _payload, done) => {
    admission.leave(request);
    done();
  });
}
