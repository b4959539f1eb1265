import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FoundPartner, PartnerDirectory } from '../../access/partner-directory.ts';
import type { Partner } from '../../access/scope.ts';
import type { Kind } from '../../kinds.ts';
import { limitHeaders, type RequestLimits } from '../../rate-limiting/request-limits.ts';
import type { Clock } from '../../timestamp.ts';
import {
  forbidden,
  methodNotAllowed,
  rateLimited,
  tooManyFailures,
  unauthorized,
  unknownPath,
  validationFailed,
} from '../response/errors.ts';
import { keyHeaders, partnerHeaders, publicHeaders, setHeaders } from '../response/headers.ts';
import { sendCached } from '../response/response-cache.ts';
import { leaveWhenSent, type Admission } from '../server/admission.ts';
import { isPartnerPath, readPath } from '../server/request-target.ts';
import { hasUnknownEnd, problemOfHead, readBearerKey } from './head.ts';
import { parseParameters, type Parameters, type ParameterValues } from './parameters.ts';
import { observeWhenClosed, type RequestObserver } from './request-observers.ts';

declare module 'fastify' {
  /** Facts about a route that the checks before its handler need. */
  interface FastifyContextConfig {
    /** The kind of resource it serves. A partner can be limited to some kinds; null for a route open to all. */
    kind?: Kind | null;
    /** The query parameters it accepts; all others are rejected. */
    parameters?: Parameters;
  }
  interface FastifyRequest {
    /** Whose key the request has; null outside /v1, and until the key was accepted. */
    caller: FoundPartner | null;
    /** The authenticated partner. Throws outside /v1. */
    readonly partner: Partner;
    /** The public id of its key. Throws outside /v1. */
    readonly keyId: string;
    /** Number of records in the response; 0 if it has none. */
    sentRows: number;
    /** The parsed query parameters, as defined in the route's config. */
    parameters: ParameterValues<Parameters>;
  }
}

/** Throws the ApiError that refuses a request, or returns. */
export type Check = (request: FastifyRequest) => void;

interface PartnerPipelineParts {
  readonly directory: PartnerDirectory;
  readonly clock: Clock;
  readonly limits: RequestLimits;
  readonly admission: Admission;
  /** The check of a list's cursor, which depends on the parsed parameters. */
  readonly checkCursor: Check;
}

/** The first steps of every request. Observers are notified of each request, whatever its outcome. */
export function addCommonSteps(app: FastifyInstance, observers: readonly RequestObserver[]): void {
  app.decorateRequest('caller', null);
  app.decorateRequest('partner', { getter: getPartner });
  app.decorateRequest('keyId', { getter: getKeyId });
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
    observeWhenClosed(observers, reply.raw, () => ({
      message: request.raw,
      id: request.id,
      method: request.method,
      route: request.routeOptions.url ?? null,
      durationMs: reply.elapsedTime,
      caller: request.caller,
      rows: request.sentRows,
    }));
    if (hasUnknownEnd(request.raw)) reply.header('connection', 'close');
    done();
  });
}

/** The steps of a request under /v1 before its handler, in order, each with the statuses it can respond with. */
export function addPartnerPipeline(v1: FastifyInstance, parts: PartnerPipelineParts): void {
  const { clock, limits, admission, checkCursor } = parts;
  v1.addHook('onRequest', async (request, reply) => {
    setHeaders(reply, partnerHeaders(request.id));
    request.caller = await authenticate(request, parts); // 401, or 429 after many
    setHeaders(reply, keyHeaders(request.caller, clock));
    await countRequest(request, reply, limits); // 429
    admission.enter(request); // 429
    checkPath(request); // 404, 405
    checkHead(request); // 400
    parseQuery(request); // 400
    checkCursor(request); // 400
    checkPermission(request); // 403
  });
  // Without a promise: Fastify would continue to the handler if the client left before an awaited reply was sent.
  v1.addHook('onRequest', (request, reply, done) => {
    if (!sendIfCached(request, reply)) done(); // 200, 304
  });
  leaveWhenSent(v1, admission);
  v1.setNotFoundHandler(throwUnknownPath);
}

/** The same for paths that need no key. */
export function addPublicPipeline(pages: FastifyInstance): void {
  pages.addHook('onRequest', (request, reply, done) => {
    setHeaders(reply, publicHeaders(request.id));
    checkPath(request); // 404, 405
    checkHead(request); // 400
    done();
  });
  pages.setNotFoundHandler(throwUnknownPath);
}

/**
 * Resolves the API key of every request to its partner, even if the path does not exist. After `FAILURES_PER_MINUTE`
 * failures from one address in a minute, further failures from it get 429. Requests with a valid key are unaffected.
 */
async function authenticate(
  request: FastifyRequest,
  { directory, limits, admission }: PartnerPipelineParts,
): Promise<FoundPartner> {
  const key = readBearerKey(request.raw.rawHeaders);
  let caller = key === null ? null : directory.findCachedKey(key);
  if (key !== null && caller === null) {
    admission.beginLookUp();
    try {
      caller = await directory.findByKey(key);
    } finally {
      admission.endLookUp();
    }
  }
  if (caller !== null) return caller;
  const { isExceeded, resetSeconds } = await limits.countFailure(request.ip);
  throw isExceeded ? tooManyFailures(resetSeconds) : unauthorized();
}

/** Enforces each partner's requests per minute, and reports its remaining quota on every response. */
async function countRequest({ partner }: FastifyRequest, reply: FastifyReply, limits: RequestLimits): Promise<void> {
  const limitResult = await limits.countRequest(partner);
  setHeaders(reply, limitHeaders(partner, limits, limitResult));
  if (limitResult.isExceeded) throw rateLimited(limitResult.resetSeconds);
}

function getPartner(this: FastifyRequest): Partner {
  return callerOf(this).partner;
}

function getKeyId(this: FastifyRequest): string {
  return callerOf(this).keyId;
}

function callerOf({ caller, id }: FastifyRequest): FoundPartner {
  if (caller === null) throw new Error(`request ${id} has no partner`);
  return caller;
}

/** Runs before anything reads the body. */
function checkPath(request: FastifyRequest): void {
  if (!request.is404 && !hasEmptySegment(request.params)) return;
  if (readPath(request.originalUrl) === null) {
    throw validationFailed('The URL must be percent-encoded UTF-8, without %00 and without "#".');
  }
  const readable = findReadable(request);
  throw readable === null || hasEmptySegment(readable.params) ? unknownPath() : methodNotAllowed();
}

/** The route that a GET of the same URL would match. The published type omits null. */
function findReadable({ server, url }: FastifyRequest): { params: unknown } | null {
  return server.findRoute({ method: 'GET', url });
}

/** The router matches "/v1/contracts/" as a record with an empty ID. */
function hasEmptySegment(params: unknown): boolean {
  for (const name in params as Record<string, unknown>) {
    if ((params as Record<string, unknown>)[name] === '') return true;
  }
  return false;
}

function checkHead(request: FastifyRequest): void {
  const problem = problemOfHead(request.raw);
  if (problem !== null) throw validationFailed(problem);
}

function parseQuery(request: FastifyRequest): void {
  request.parameters = parseParameters(request.originalUrl, request.routeOptions.config.parameters ?? {});
}

/** The partner is suspended, or limited to other kinds of resource. Records outside its scope are not handled here. */
function checkPermission({ partner: { isSuspended, kinds }, routeOptions }: FastifyRequest): void {
  if (isSuspended) throw forbidden('This partner is suspended. Contact the operator who issued your API key.');
  const { kind } = routeOptions.config;
  if (kinds === null || kind === null || (kind !== undefined && kinds.has(kind))) return;
  const allowed = kinds.size === 0 ? 'none' : [...kinds].join(', ');
  throw forbidden(`This partner has no access to ${kind ?? 'this path'}. It can read: ${allowed}.`);
}

/**
 * Sends what `server.ts` could not serve from the cache, because another process counts the request or the response is
 * not compressed yet.
 *
 * @returns false if it is not cached.
 */
function sendIfCached(request: FastifyRequest, reply: FastifyReply): boolean {
  const { responseCache } = request.server;
  const cached = responseCache.find(request.partner, request.originalUrl);
  if (cached === null) return false;
  responseCache.noticeHit();
  sendCached(request, reply, cached);
  return true;
}

function throwUnknownPath(): never {
  throw unknownPath();
}
