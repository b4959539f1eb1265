import type { FastifyInstance } from 'fastify';
import { findPartner } from './route-config.ts';

/**
 * One line in the log for each request, also for one whose client went away. It names the
 * route and never the address: a path or a query may hold what was meant to be a secret.
 */
export function addRequestLog(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    const startedAt = performance.now();
    reply.raw.once('close', () => {
      request.log.info(
        {
          method: request.method,
          route: request.routeOptions.url ?? null,
          status: reply.raw.writableFinished ? reply.statusCode : null,
          durationMs: Math.round((performance.now() - startedAt) * 100) / 100,
          partner: findPartner(request)?.name ?? null,
          keyId: request.keyId,
        },
        reply.raw.writableFinished ? 'request answered' : 'request aborted',
      );
    });
  });
}
