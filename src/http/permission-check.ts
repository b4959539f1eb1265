import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Partner } from '../access/scope.ts';
import { forbidden } from './errors.ts';
import { findPartner } from './route-config.ts';

/**
 * 403: the partner is suspended, or limited to other kinds of resource. Records outside its scope are not handled here.
 */
export function addPermissionCheck(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const partner = findPartner(request);
    if (partner !== null) checkPermission(partner, request);
    done();
  });
}

function checkPermission({ isSuspended, kinds }: Partner, request: FastifyRequest): void {
  if (isSuspended) throw forbidden('The access of this partner is suspended. Write to whoever gave you the key.');
  if (kinds === null) return;
  const { kind } = request.routeOptions.config;
  if (kind === undefined || !kinds.has(kind)) {
    throw forbidden(`The access of this partner does not include ${kind ?? 'this'}; it has ${listKinds(kinds)}.`);
  }
}

function listKinds(kinds: ReadonlySet<string>): string {
  return kinds.size === 0 ? 'none' : [...kinds].join(', ');
}
