import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Partner } from '../access/scope.ts';
import { findPartner } from './route-config.ts';

/** What there is to say of a request when it is over, besides its answer. */
export interface EndedRequest {
  /** As it came. */
  readonly message: IncomingMessage;
  readonly id: string;
  readonly method: string;
  readonly route: string | null;
  readonly durationMs: number;
  readonly partner: Partner | null;
  readonly keyId: string | null;
  /** Records in the answer that was made. */
  readonly rows: number;
}

/** A request that is over. */
export interface ObservedRequest extends EndedRequest {
  /** Null where the client went away before it had its answer. */
  readonly status: number | null;
}

/** Is told of each request that is over. Must neither fail nor take long. */
export type RequestObserver = (request: ObservedRequest) => void;

/**
 * Tells of each request that is over, also of one whose client went away: `addKeptAnswers`
 * tells of those that never come here.
 */
export function addRequestObservers(app: FastifyInstance, observers: readonly RequestObserver[]): void {
  app.addHook('onRequest', (request, reply, done) => {
    observeWhenClosed(observers, reply.raw, () => ({
      message: request.raw,
      id: request.id,
      method: request.method,
      route: request.routeOptions.url ?? null,
      durationMs: reply.elapsedTime,
      partner: findPartner(request),
      keyId: request.keyId,
      rows: request.answeredRows,
    }));
    done();
  });
}

/** Tells of the request when the answer is out, or its connection gone. */
export function observeWhenClosed(
  observers: readonly RequestObserver[],
  response: ServerResponse,
  describe: () => EndedRequest,
): void {
  response.on('close', () => {
    const request = describe();
    const status = response.writableFinished ? response.statusCode : null;
    // What was asked for conditionally and has not changed is not sent again.
    const observed = { ...request, status, rows: status === 200 ? request.rows : 0 };
    for (const observe of observers) observe(observed);
  });
}

/**
 * One line in the log for each request. It names the route and never the address: a path or a
 * query may hold what was meant to be a secret.
 */
export function logRequests(log: Pick<FastifyBaseLogger, 'info'>): RequestObserver {
  return ({ id, method, route, status, durationMs, partner, keyId, rows }) =>
    log.info(
      {
        requestId: id,
        method,
        route,
        status,
        durationMs: Math.round(durationMs * 100) / 100,
        partner: partner?.name ?? null,
        keyId,
        rows,
      },
      status === null ? 'request aborted' : 'request answered',
    );
}
