import { fastify, type FastifyInstance } from 'fastify';
import { addAdmission, makeAdmission } from './http/admission.ts';
import { addAuthentication } from './http/authentication.ts';
import { addCaching } from './http/caching.ts';
import { addCompression } from './http/compression.ts';
import { trackConnections } from './http/connections.ts';
import { addDraining } from './http/draining.ts';
import { addErrorHandling } from './http/error-handling.ts';
import { registerHealth } from './http/health.ts';
import { addCachedResponses } from './http/cached-responses.ts';
import { addOpenApi, registerOpenApi } from './http/openapi.ts';
import { addPathCheck } from './http/path-check.ts';
import { addPermissionCheck } from './http/permission-check.ts';
import { addRequestCheck, endUnclearConnections } from './http/request-check.ts';
import { InMemoryRateLimiter, type RateLimiter } from './http/request-counts.ts';
import { addRequestId } from './http/request-id.ts';
import { addRequestLimit } from './http/request-limits.ts';
import { addRequestObservers, logRequests } from './http/request-observers.ts';
import { addRouteConfig } from './http/route-config.ts';
import { addSecurityHeaders } from './http/security-headers.ts';
import { serverOptions } from './http/server-options.ts';
import { endSlowReaders } from './http/slow-readers.ts';
import { addUnparsedRequests } from './http/unparsed-requests.ts';
import { addCursorCheck } from './paging/cursor-check.ts';
import { SetCache } from './index/set-cache.ts';
import { registerPortal } from './portal/portal.ts';
import { CertificationList } from './resources/certifications/certification-list.ts';
import { registerCertifications } from './resources/certifications/routes.ts';
import { registerContracts } from './resources/contracts/routes.ts';
import { registerReferenceLists } from './resources/reference-lists/routes.ts';
import { registerSolicitations } from './resources/solicitations/routes.ts';
import { registerSuppliers } from './resources/suppliers/routes.ts';
import type { Services } from './services.ts';

/** Size of a process's cache of index bitmaps. */
const INDEX_CACHE_BYTES = 64 * 1024 * 1024;

/**
 * Builds the HTTP server with all its routes, not yet listening. Registrations are in the order in which a request
 * passes them.
 */
export async function buildApp(
  services: Services,
  rateLimiter: RateLimiter = new InMemoryRateLimiter(),
): Promise<FastifyInstance> {
  const app: FastifyInstance = fastify(serverOptions(services));
  const observers = [logRequests(app.log), ...services.observers];
  const known = addCachedResponses(app, services, rateLimiter, observers); // 200, 304: cached responses end here
  const connections = trackConnections(app.server);
  addUnparsedRequests(app, connections);
  endSlowReaders(app, connections);
  addDraining(app, connections);
  addRouteConfig(app);

  // For every request.
  addRequestId(app);
  addRequestObservers(app, observers);
  addErrorHandling(app);
  addSecurityHeaders(app);
  addCaching(app);
  addCompression(app);
  endUnclearConnections(app);

  // The checks before a handler, each with the status of its refusal.
  const admission = makeAdmission(app);
  addAuthentication(app, services.directory, rateLimiter, { known, admission }); // 401, or 429 after many
  addRequestLimit(app, rateLimiter, known); // 429
  addAdmission(app, admission); // 429
  addPathCheck(app); // 404, 405
  addRequestCheck(app); // 400
  addCursorCheck(app, services.cursorSecret); // 400
  addPermissionCheck(app); // 403

  await addOpenApi(app, services.config);
  registerHealth(app);
  registerOpenApi(app);

  const certifications = new CertificationList(services.database);
  const sets = new SetCache(INDEX_CACHE_BYTES);
  registerContracts(app, services, sets);
  registerSuppliers(app, services, sets, certifications);
  registerSolicitations(app, services, sets);
  registerCertifications(app, services, certifications);
  registerReferenceLists(app, services);

  registerPortal(app);
  return app;
}
