import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Partner } from '../access/scope.ts';
import { findPartner } from './route-config.ts';

/** A finished request, without its status. */
export interface EndedRequest {
  /** The raw request. */
  readonly message: IncomingMessage;
  readonly id: string;
  readonly method: string;
  readonly route: string | null;
  readonly durationMs: number;
  readonly partner: Partner | null;
  readonly keyId: string | null;
  /** Number of records in the rendered response. */
  readonly rows: number;
}

/** A finished request. */
export interface ObservedRequest extends EndedRequest {
  /** Null if the client disconnected before it received the whole response. */
  readonly status: number | null;
}

/** Called for each finished request. Must be fast and must not throw. */
export type RequestObserver = (request: ObservedRequest) => void;

/**
 * Notifies the observers of each finished request, including those whose client disconnected. `addCachedResponses` does so
 * for the requests that it serves, which never get here.
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
      rows: request.sentRows,
    }));
    done();
  });
}

/** Notifies the observers once the response is sent or its connection is closed. */
export function observeWhenClosed(
  observers: readonly RequestObserver[],
  response: ServerResponse,
  describe: () => EndedRequest,
): void {
  response.on('close', () => {
    const request = describe();
    const status = response.writableFinished ? response.statusCode : null;
    // A 304 sends no records.
    const observed = { ...request, status, rows: status === 200 ? request.rows : 0 };
    for (const observe of observers) observe(observed);
  });
}

/**
 * Logs one line per request. It names the route and never the URL, because a path or query can contain a secret by
 * mistake.
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
