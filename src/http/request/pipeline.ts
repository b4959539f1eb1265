import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { FoundPartner, PartnerDirectory } from '../../access/partner-directory.ts';
import type { Partner } from '../../access/scope.ts';
import type { Kind } from '../../kinds.ts';
import { scheduler } from '../../fair-scheduler.ts';
import type { RequestLimits } from '../../rate-limiting/request-limits.ts';
import type { RouteServices } from '../../services.ts';
import {
  forbidden,
  methodNotAllowed,
  rateLimited,
  tooManyFailures,
  type ApiError,
  unauthorized,
  unknownPath,
  validationFailed,
} from '../response/errors.ts';
import { PARTNER_HEADERS, PUBLIC_HEADERS, REQUEST_ID_HEADER } from '../response/send-text.ts';
import { sendCached } from '../response/response-cache.ts';
import { NOBODY_YET } from '../server/admission.ts';
import { isPartnerPath, readPath, hasUnknownEnd, problemOfHead, readBearerKey } from './request-head.ts';
import { acceptedFormat, makePageCheck, type Format } from './page-parameters.ts';
import { parseParameters, type Parameters, type ParameterValues } from './parameters.ts';
import { observeWhenClosed, type RequestObserver } from './observers.ts';

declare module 'fastify' {
  /** Facts about a route that the checks before its handler need. */
  interface FastifyContextConfig {
    /** The kind of resource it serves. A partner can be limited to some kinds; null for a route open to all. */
    kind?: Kind | null;
    /** The query parameters it accepts; all others are rejected. */
    parameters?: Parameters;
  }
  interface FastifyRequest {
    /** Null outside /v1, and until the key was accepted. */
    caller: FoundPartner | null;
    /** The authenticated partner, without its scope, which only a snapshot has. Throws outside /v1. */
    readonly partner: Omit<Partner, 'scope'>;
    /** Counts the request as more than one, for a stream. It is not refused, even if the limit is exceeded. */
    countMore(reply: FastifyReply, units: number): Promise<void>;
    /** By parameter or by `Accept`. */
    format: Format;
    /** The 4xx that it is refused with. */
    refusal: ApiError | null;
    /** Number of records in the response. */
    sentRows: number;
    parameters: ParameterValues;
  }
}

/** The first steps of every request. Observers are notified of each request, whatever its outcome. */
export function addCommonSteps(app: FastifyInstance, observers: readonly RequestObserver[]): void {
  app.decorateRequest('caller', null);
  app.decorateRequest('partner', {
    getter() {
      return callerOf(this).partner;
    },
  });
  app.decorateRequest('refusal', null);
  app.decorateRequest('sentRows', 0);
  app.decorateRequest('parameters');
  app.addHook('onRoute', (route) => {
    const { url, prefix, config } = route;
    // An oversight stops the process instead of exposing data.
    if (isPartnerPath(url) && (prefix !== '/v1' || config?.kind === undefined || config.parameters === undefined)) {
      throw new Error(`route ${url} must be registered with the prefix /v1, and with "kind" and "parameters"`);
    }
    // Fastify's onSend hook for HEAD fails on responses without a body, such as 304. Node strips HEAD bodies anyway.
    if (route.method === 'HEAD') delete route.onSend;
  });
  app.addHook('onRequest', (request, reply, done) => {
    observeWhenClosed(observers, request, reply);
    if (hasUnknownEnd(request.raw)) reply.header('connection', 'close');
    done();
  });
}

/** The steps of a request under /v1 before its handler, in order, each with the statuses it can respond with. */
export function addPartnerPipeline(v1: FastifyInstance, services: RouteServices, limits: RequestLimits): void {
  const { clock, directory, cursorSecret } = services;
  const { admission } = v1;
  disableSchemaCompilers(v1);
  const checkPage = makePageCheck(v1, cursorSecret);
  v1.decorateRequest('format', 'json');
  v1.decorateRequest('permitHolder', null);
  v1.decorateRequest('countMore', async function (this: FastifyRequest, reply, units) {
    const { partner } = callerOf(this);
    reply.headers(limits.headersFor(partner, await limits.countMore(partner, units)));
  });
  v1.addHook('onRequest', async (request, reply) => {
    reply.headers({ [REQUEST_ID_HEADER]: request.id, ...PARTNER_HEADERS });
    request.caller = await authenticate(request, directory, limits); // 401, or 429 after many
    const { partner, expiry } = request.caller;
    if (expiry !== null && clock() >= expiry.warnFromMs) reply.header('x-key-expires-at', expiry.expiresAt);
    const counted = await limits.countRequest(partner);
    // Before the refusal: a 429 has these headers too.
    reply.headers(limits.headersFor(partner, counted));
    if (counted.isExceeded) throw rateLimited(counted.resetSeconds); // 429
  });
  // A cached response has passed the checks below, for the same partner, revision and URL. Without a promise: Fastify
  // would continue to the handler if the client left before an awaited reply was sent.
  v1.addHook('onRequest', (request, reply, done) => {
    // Only JSON is cached.
    const isOther = request.is404 || acceptedFormat(request.headers.accept) !== 'json';
    const cached =
      isOther || problemOfHead(request.raw) !== null
        ? null
        : request.server.responseCache.find(request.partner, request.originalUrl);
    if (cached === null) done();
    else sendCached(request, reply, cached); // 200, 304
  });
  v1.addHook('onRequest', async (request) => {
    admission.enter(request); // 429
    checkPath(request); // 404, 405
    checkHead(request); // 400
    request.parameters = parseParameters(request.originalUrl, request.routeOptions.config.parameters ?? {}); // 400
    checkPage(request); // 400
    checkPermission(request); // 403
    await scheduler.turn(request.partner.id);
  });
  v1.addHook('onSend', (request, _reply, _payload, done) => {
    admission.leave(request);
    done();
  });
  // Hooks run for unknown paths only if there is a handler.
  v1.setNotFoundHandler(checkPath);
}

/** The same for paths that need no key. */
export function addPublicPipeline(pages: FastifyInstance): void {
  disableSchemaCompilers(pages);
  pages.addHook('onRequest', (request, reply, done) => {
    reply.headers({ [REQUEST_ID_HEADER]: request.id, ...PUBLIC_HEADERS });
    checkPath(request); // 404, 405
    checkHead(request); // 400
    done();
  });
  pages.setNotFoundHandler(checkPath);
}

/** The schemas of routes are documentation only: `parameters.ts` checks parameters, and responses are rendered text. */
function disableSchemaCompilers(scope: FastifyInstance): void {
  scope.setValidatorCompiler(() => () => true);
  scope.setSerializerCompiler(() => (value) => JSON.stringify(value));
}

/** Resolves the key of every request to its partner, also if the path does not exist. Throws 401, or 429 after many. */
async function authenticate(request: FastifyRequest, directory: PartnerDirectory, limits: RequestLimits) {
  const key = readBearerKey(request.raw.rawHeaders);
  let caller = key === null ? null : directory.findCachedKey(key);
  if (key !== null && caller === null) {
    const { admission } = request.server;
    admission.enter(request, NOBODY_YET);
    caller = await directory.findByKey(key);
    admission.leave(request);
  }
  if (caller !== null) return caller;
  const { isExceeded, resetSeconds } = await limits.countFailure(request.ip);
  const refused = key === null ? { keyState: 'missing' as const } : directory.describeRefused(key);
  throw isExceeded ? tooManyFailures(resetSeconds, refused) : unauthorized(refused);
}

/** The owner of the request's key. Throws outside /v1. */
export function callerOf({ caller, id }: Pick<FastifyRequest, 'caller' | 'id'>): FoundPartner {
  if (caller === null) throw new Error(`request ${id} has no partner`);
  return caller;
}

/** Runs before anything reads the body. */
function checkPath(request: FastifyRequest): void {
  if (!request.is404 && !hasEmptySegment(request.params)) return;
  if (readPath(request.originalUrl) === null) {
    throw validationFailed('The URL must be percent-encoded UTF-8, without %00 and without "#".');
  }
  // The published type omits null.
  const readable = request.server.findRoute({ method: 'GET', url: request.url }) as { params: unknown } | null;
  throw readable === null || hasEmptySegment(readable.params) ? unknownPath() : methodNotAllowed();
}

/** The router matches "/v1/contracts/" as a record with an empty ID. */
function hasEmptySegment(params: unknown): boolean {
  return Object.values(params as Record<string, unknown>).includes('');
}

function checkHead(request: FastifyRequest): void {
  const problem = problemOfHead(request.raw);
  if (problem !== null) throw validationFailed(problem);
}

/** Throws ApiError 403 if the partner is suspended, or has no access to the route's kind of resource. */
export function checkPermission(request: Pick<FastifyRequest, 'caller' | 'id' | 'routeOptions'>): void {
  const { isSuspended, kinds } = callerOf(request).partner;
  const { routeOptions } = request;
  if (isSuspended) throw forbidden('This partner is suspended. Contact the operator who issued your API key.');
  const { kind } = routeOptions.config;
  if (kinds === null || kind === null || (kind !== undefined && kinds.has(kind))) return;
  const allowed = kinds.size === 0 ? 'none' : [...kinds].join(', ');
  throw forbidden(`This partner has no access to ${kind ?? 'this path'}. It can read: ${allowed}.`);
}
