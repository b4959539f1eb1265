import type { FastifyInstance } from 'fastify';
import { findPartner } from './route-config.ts';

/**
 * One line in the log for each request, also for one whose client went away. It names the
 * route and never the address: a path or a query may hold what was meant to be a secret.
 */
export function addRequestLog(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = reply;
    raw.on('close', () => {
      const isAnswered = raw.writableFinished;
      app.log.info(
        {
          requestId: request.id,
          method: request.method,
          route: request.routeOptions.url ?? null,
          status: isAnswered ? raw.statusCode : null,
          durationMs: Math.round(reply.elapsedTime * 100) / 100,
          partner: findPartner(request)?.name ?? null,
          keyId: request.keyId,
        },
        isAnswered ? 'request answered' : 'request aborted',
      );
    });
    done();
  });
}
