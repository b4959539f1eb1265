import type { FastifyInstance } from 'fastify';
import type { Kind, Partner } from '../access/scope.ts';
import type { Parameters, ParameterValues } from './parameters.ts';
import { isPartnerPath, readPath } from './request-target.ts';

declare module 'fastify' {
  /** What the checks before a handler need to know of its route. */
  interface FastifyContextConfig {
    /** The kind of resource that it serves: a partner may be limited to some. */
    kind?: Kind;
    /** The query parameters that it takes; all others are refused. */
    parameters?: Parameters;
  }
  interface FastifyRequest {
    /** Whether it is under /v1. */
    needsKey: boolean;
    /** Who asks. Set in every handler under /v1; elsewhere there is no one. */
    partner: Partner;
    /** The public id of the key, for the log; null where none was accepted. */
    keyId: string | null;
    /** Records in the answer; 0 where it has none. */
    answeredRows: number;
    /** The query parameters, checked and parsed, by the definitions in the route's config. */
    parameters: ParameterValues<Parameters>;
  }
}

/**
 * Makes room on requests for what the checks find out, and refuses a route under /v1 that does
 * not say of which kind it is and what it takes: an oversight ends the start, and opens nothing.
 */
export function addRouteConfig(app: FastifyInstance): void {
  app.decorateRequest('needsKey', true);
  app.decorateRequest('partner');
  app.decorateRequest('keyId', null);
  app.decorateRequest('answeredRows', 0);
  app.decorateRequest('parameters');
  app.addHook('onRoute', ({ url, config }) => {
    if (url.startsWith('/v1') && (config?.kind === undefined || config.parameters === undefined)) {
      throw new Error(`the route ${url} needs a config with "kind" and "parameters"`);
    }
  });
  app.addHook('onRequest', (request, _reply, done) => {
    // Whatever route it matched under /v1, however that was spelt, and all other paths there.
    request.needsKey = isPartnerPath(request.routeOptions.url ?? readPath(request.originalUrl) ?? request.url);
    done();
  });
}

/** The partner behind a request; null where none is needed, or none was found yet. */
export function findPartner({ partner }: { readonly partner?: Partner }): Partner | null {
  return partner ?? null;
}
