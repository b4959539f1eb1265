import type { FastifyInstance, FastifyRequest } from 'fastify';
import { overloaded } from './errors.ts';
import { Places } from './places.ts';
import { findPartner } from './route-config.ts';
import { Turn } from './turn.ts';

/**
 * Requests that wait for the database at once. Ten run on PostgreSQL, the others wait for their
 * connections: at some milliseconds each, the last of so many waits for a tenth of a second.
 */
const MOST_IN_FLIGHT = 256;

/** Whose key has to be looked up first. */
const NOBODY_YET = 0;

/** An overload is logged when it begins, and so often while it lasts. */
const LOG_INTERVAL_MS = 10_000;

declare module 'fastify' {
  interface FastifyInstance {
    admission: Admission;
  }
  interface FastifyRequest {
    /** Who holds a place for this request; null for nobody. */
    placeOf: number | null;
  }
}

/** Lets as many requests in as this process carries. */
export class Admission {
  readonly #places = new Places<number>(MOST_IN_FLIGHT);
  readonly #turn = new Turn<number>();
  readonly #onRefused: () => void;
  #refused = 0;

  constructor(onRefused: () => void) {
    this.#onRefused = onRefused;
  }

  /** How many requests were refused since the process started. */
  get refused(): number {
    return this.#refused;
  }

  /** To be called for each request that is refused as there is too much to do, here or elsewhere. */
  noticeRefusal(): void {
    this.#refused += 1;
    this.#onRefused();
  }

  /** To be called for each request that arrives. */
  noticeArrival(): void {
    this.#turn.begin();
  }

  /** @throws ApiError 429 where as many keys are looked up as there is room for. */
  beginLookUp(): void {
    this.#take(NOBODY_YET);
  }

  endLookUp(): void {
    this.#places.giveBack(NOBODY_YET);
  }

  /** @throws ApiError 429 where this is more than there is time and room for. */
  enter(request: FastifyRequest, partnerId: number): void {
    if (!this.#turn.hasTimeFor(partnerId)) throw overloaded();
    this.#take(partnerId);
    request.placeOf = partnerId;
  }

  leave(request: FastifyRequest): void {
    if (request.placeOf !== null) this.#places.giveBack(request.placeOf);
    request.placeOf = null;
  }

  #take(who: number): void {
    if (!this.#places.take(who)) throw overloaded();
  }
}

/** What decides how much is let in, and says so in the log where that is not all. */
export function makeAdmission(app: FastifyInstance): Admission {
  let refused = 0;
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  const admission = new Admission(() => {
    refused += 1;
    const nowMs = performance.now();
    if (nowMs - loggedAtMs < LOG_INTERVAL_MS) return;
    app.log.warn({ refused }, 'requests are refused with 429: more than this process carries');
    loggedAtMs = nowMs;
    refused = 0;
  });
  app.decorate('admission', admission);
  return admission;
}

/**
 * 429: what is more than this process carries is refused at once, so that what is accepted is
 * answered soon. A request holds its place until its answer is made, not until it is read, which is for
 * the client to decide, and also where the client is gone, since the database works on.
 */
export function addAdmission(app: FastifyInstance, admission: Admission): void {
  app.server.prependListener('request', () => admission.noticeArrival());
  app.decorateRequest('placeOf', null);
  app.addHook('onRequest', (request, _reply, done) => {
    const partner = findPartner(request);
    if (partner !== null) admission.enter(request, partner.id);
    done();
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    admission.leave(request);
    done();
  });
}
