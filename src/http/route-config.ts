import type { FastifyInstance } from 'fastify';
import type { Kind, Partner } from '../access/scope.ts';
import type { Parameters, ParameterValues } from './parameters.ts';
import { isPartnerPath, readPath } from './request-target.ts';

declare module 'fastify' {
  /** What the checks that run before a handler need to know about its route. */
  interface FastifyContextConfig {
    /** The kind of resource it serves. A partner can be limited to some kinds. */
    kind?: Kind;
    /** The query parameters it accepts; all others are rejected. */
    parameters?: Parameters;
  }
  interface FastifyRequest {
    /** Whether the request is under /v1. */
    needsKey: boolean;
    /** The authenticated partner. Set in every handler under /v1, and nowhere else. */
    partner: Partner;
    /** The key's public ID, for the log; null if no key was accepted. */
    keyId: string | null;
    /** Number of records in the response; 0 if it has none. */
    sentRows: number;
    /** The parsed query parameters, as defined in the route's config. */
    parameters: ParameterValues<Parameters>;
  }
}

/**
 * Declares the request properties that the checks set, and rejects at startup any route under /v1 without a kind and
 * parameters: an oversight stops the process instead of exposing data.
 */
export function addRouteConfig(app: FastifyInstance): void {
  app.decorateRequest('needsKey', true);
  app.decorateRequest('partner');
  app.decorateRequest('keyId', null);
  app.decorateRequest('sentRows', 0);
  app.decorateRequest('parameters');
  app.addHook('onRoute', ({ url, config }) => {
    if (url.startsWith('/v1') && (config?.kind === undefined || config.parameters === undefined)) {
      throw new Error(`the route ${url} needs a config with "kind" and "parameters"`);
    }
  });
  app.addHook('onRequest', (request, _reply, done) => {
    // True for any route matched under /v1, however the URL was spelled, and for all unknown paths under it.
    request.needsKey = isPartnerPath(request.routeOptions.url ?? readPath(request.originalUrl) ?? request.url);
    done();
  });
}

/** The partner behind a request; null if none is required, or none has been found yet. */
export function findPartner({ partner }: { readonly partner?: Partner }): Partner | null {
  return partner ?? null;
}
