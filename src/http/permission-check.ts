import type { FastifyInstance } from 'fastify';
import { forbidden } from './errors.ts';
import { findPartner } from './route-config.ts';

/** 403: the partner is suspended, or limited to other kinds of resource. What its scope leaves out is no matter of this. */
export function addPermissionCheck(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    const partner = findPartner(request);
    if (partner === null) return;
    if (partner.isSuspended) {
      throw forbidden('The access of this partner is suspended. Write to whoever gave you the key.');
    }
    const { kind } = request.routeOptions.config;
    if (partner.kinds !== null && (kind === undefined || !partner.kinds.has(kind))) {
      throw forbidden(
        `The access of this partner does not include ${kind ?? 'this'}; it has ${listKinds(partner.kinds)}.`,
      );
    }
  });
}

function listKinds(kinds: ReadonlySet<string>): string {
  return kinds.size === 0 ? 'none' : [...kinds].join(', ');
}
