import type { ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Partner } from '../access/scope.ts';
import { findPartner } from './route-config.ts';

/** What the log says of a request, besides its answer. */
export interface LoggedRequest {
  readonly id: string;
  readonly method: string;
  readonly route: string | null;
  readonly durationMs: number;
  readonly partner: Partner | null;
  readonly keyId: string | null;
}

/**
 * One line in the log for each request, also for one whose client went away. It names the
 * route and never the address: a path or a query may hold what was meant to be a secret.
 */
export function addRequestLog(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    logWhenClosed(app.log, reply.raw, () => ({
      id: request.id,
      method: request.method,
      route: request.routeOptions.url ?? null,
      durationMs: reply.elapsedTime,
      partner: findPartner(request),
      keyId: request.keyId,
    }));
    done();
  });
}

/** Writes the line when the answer is out, or its connection gone. */
export function logWhenClosed(log: FastifyBaseLogger, response: ServerResponse, describe: () => LoggedRequest): void {
  response.on('close', () => {
    const { id, method, route, durationMs, partner, keyId } = describe();
    const isAnswered = response.writableFinished;
    log.info(
      {
        requestId: id,
        method,
        route,
        status: isAnswered ? response.statusCode : null,
        durationMs: Math.round(durationMs * 100) / 100,
        partner: partner?.name ?? null,
        keyId,
      },
      isAnswered ? 'request answered' : 'request aborted',
    );
  });
}
