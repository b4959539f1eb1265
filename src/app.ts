import { fastify, type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { addOpenApi, registerOpenApi } from './http/openapi/openapi.ts';
import { logRequests } from './http/request/observers.ts';
import { addCommonSteps, addPartnerPipeline, addPublicPipeline } from './http/request/pipeline.ts';
import { sendError } from './http/response/errors.ts';
import { ResponseCache } from './http/response/response-cache.ts';
import { Admission } from './http/server/admission.ts';
import { OpenStreams } from './http/server/open-streams.ts';
import {
  Connections,
  addDraining,
  createHttpServer,
  FRAMEWORK_OPTIONS,
  registerHealth,
  WAITS,
} from './http/server/server.ts';
import { unparsedRequests } from './http/server/unparsed-requests.ts';
import { SetCache } from './index/block-query.ts';
import { RecordIndex } from './index/record-index.ts';
import { Snapshots } from './paging/snapshots.ts';
import { registerPortal } from './portal/portal.ts';
import { InMemoryRateLimiter, RequestLimits } from './rate-limiting/request-limits.ts';
import { CertificationList } from './resources/certifications/certification-list.ts';
import { registerCertifications } from './resources/certifications/certifications.ts';
import { registerChanges } from './resources/changes/changes.ts';
import { registerContracts } from './resources/contracts/contracts.ts';
import { registerKey } from './resources/key/key.ts';
import { registerReferenceLists } from './resources/reference-lists/reference-lists.ts';
import { registerSolicitations } from './resources/solicitations/solicitations.ts';
import { registerSuppliers } from './resources/suppliers/suppliers.ts';
import type { Services } from './services.ts';

/** Size of a process's cache of index bitmaps. */
const INDEX_CACHE_BYTES = 64 * 1024 * 1024;

/**
 * Builds the HTTP server with all its routes, not yet listening.
 *
 * @param addRoutes registers further routes under /v1, for tests of what every route does.
 * @param waits shorter ones for tests.
 */
export async function buildApp(
  services: Services,
  limits: RequestLimits = new RequestLimits(new InMemoryRateLimiter()),
  addRoutes: (v1: FastifyInstance) => void = () => undefined,
  waits = WAITS,
): Promise<FastifyInstance> {
  const { config, clock, database, directory, logger } = services;
  const loggerInstance: FastifyBaseLogger = logger;
  const openStreams = new OpenStreams(logger, waits.unreadMs);
  const connections = new Connections(openStreams, waits.unreadMs);
  const unparsed = unparsedRequests(connections, logger);
  const observers = [logRequests(logger), ...services.observers];
  const app: FastifyInstance = fastify({
    ...FRAMEWORK_OPTIONS,
    serverFactory: (handle) => createHttpServer(connections, handle),
    clientErrorHandler: (error, socket) => unparsed.refuse(error, socket),
    frameworkErrors: sendError,
    loggerInstance,
    // X-Forwarded-For is trusted from these addresses only; clients can forge the leftmost address in it.
    trustProxy: config.trustedProxies.length > 0 ? [...config.trustedProxies] : false,
  });
  app
    .decorate('admission', new Admission(logger))
    .decorate('responseCache', new ResponseCache(clock))
    .decorate('openStreams', openStreams)
    .decorate('snapshots', new Snapshots(database, directory));
  app.setErrorHandler(sendError);
  app.server.on('connect', (_request, socket) => unparsed.refuseConnect(socket));
  addDraining(app, connections, waits.drainMs);
  addCommonSteps(app, observers);
  await addOpenApi(app, config);

  await app.register(async (pages) => {
    addPublicPipeline(pages);
    registerHealth(pages);
    registerOpenApi(pages);
    await registerPortal(pages, directory, config.publicUrl);
  });
  await app.register(
    async (v1) => {
      addPartnerPipeline(v1, services, limits);
      const sets = new SetCache(INDEX_CACHE_BYTES);
      const indexes = {
        contracts: new RecordIndex('contracts', sets),
        suppliers: new RecordIndex('suppliers', sets),
        solicitations: new RecordIndex('solicitations', sets),
      };
      const certifications = new CertificationList();
      registerContracts(v1, services, indexes.contracts);
      registerSuppliers(v1, services, indexes.suppliers, certifications);
      registerSolicitations(v1, services, indexes.solicitations);
      registerChanges(v1, services, indexes);
      registerCertifications(v1, services, certifications);
      registerReferenceLists(v1, services);
      registerKey(v1, services);
      addRoutes(v1);
    },
    { prefix: '/v1' },
  );
  return app;
}
