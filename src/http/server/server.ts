import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { PartnerDirectory } from '../../access/partner-directory.ts';
import { limitHeaders, type RequestLimits } from '../../rate-limiting/request-limits.ts';
import type { Clock } from '../../timestamp.ts';
import { problemOfHead, readBearerKey } from '../request/head.ts';
import { observeWhenClosed, type RequestObserver } from '../request/request-observers.ts';
import { JSON_TYPE, keyHeaders, partnerHeaders, requestIds } from '../response/headers.ts';
import { WATERMARK_HEADER, type ResponseCache } from '../response/response-cache.ts';
import { renderText } from '../response/send-text.ts';
import type { Admission } from './admission.ts';
import type { Connections } from './connections.ts';
import { createServer } from './node-http.ts';

/** Maximum size of the request line and all headers together. */
export const MAX_HEAD_BYTES = 16_384;

/*
 * A client that sends slowly, or does not read, occupies a connection; Node's own limits are one and five minutes. A
 * legitimate request is one packet, and its response a few.
 */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
const CONNECTIONS_CHECK_MS = 1_000;
const IDLE_TIMEOUT_MS = 90_000;

/** Longer than the idle timeout of common load balancers (60 s), which must close first. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

interface ServerParts {
  readonly directory: PartnerDirectory;
  readonly clock: Clock;
  readonly limits: RequestLimits;
  readonly responseCache: ResponseCache;
  readonly observers: readonly RequestObserver[];
  readonly connections: Connections;
  readonly admission: Admission;
  readonly logger: Pick<Logger, 'error'>;
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Creates the HTTP server. It serves repeated requests from the cache, ahead of the framework, whose overhead is a
 * fifth of such a request's time; the framework handles all others from the start.
 */
export function createHttpServer(parts: ServerParts, handle: Listener): Server {
  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    requireHostHeader: false,
  });
  server.setTimeout(IDLE_TIMEOUT_MS);
  parts.connections.track(server);
  const serveCached = cachedResponses(parts);
  const listener: Listener = (request, response) => {
    parts.connections.noticeRequest(request.socket, response);
    parts.admission.noticeArrival();
    if (!serveCached(request, response)) handle(request, response);
  };
  // Node would respond to an Expect header itself. Bodies are not accepted, so "100 Continue" is never sent.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, listener);
  return server;
}

/**
 * Serves requests that are exact repeats by the same partner, and returns false for all others.
 *
 * The checks of path, parameters, cursor and permission passed when the response was produced, for the same partner,
 * revision and URL. Checks that do not depend on the URL run here: the key, the request's headers and the rate limit.
 */
function cachedResponses({ directory, clock, limits, responseCache, observers, connections, logger }: ServerParts) {
  const makeId = requestIds();

  const serve = (request: IncomingMessage, response: ServerResponse): boolean => {
    const startedMs = performance.now();
    const { method = '', url = '' } = request;
    // While draining, the framework adds `Connection: close`.
    if ((method !== 'GET' && method !== 'HEAD') || connections.isDraining) return false;
    const key = readBearerKey(request.rawHeaders);
    const found = key === null ? null : directory.findCachedKey(key);
    const cached = found === null ? null : responseCache.find(found.partner, url);
    if (found === null || cached === null || problemOfHead(request) !== null) return false;
    const content = renderText(request, cached.text, JSON_TYPE);
    const limitResult = content === null ? null : limits.tryCountRequest(found.partner);
    if (content === null || limitResult === null) return false;

    responseCache.noticeHit();
    const id = makeId();
    observeWhenClosed(observers, response, () => ({
      ...{ message: request, id, method, route: cached.route, caller: found, rows: cached.rows },
      durationMs: performance.now() - startedMs,
    }));
    const headers = [
      ...partnerHeaders(id),
      ...keyHeaders(found, clock),
      ...limitHeaders(found.partner, limits, limitResult),
      ...(cached.watermark === null ? [] : [WATERMARK_HEADER, cached.watermark]),
      ...content.headers,
    ];
    // Node sends no body to HEAD.
    response.writeHead(content.status, headers).end(content.body);
    return true;
  };

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    try {
      return serve(request, response);
    } catch (error) {
      // The framework catches a handler's errors, but nothing catches errors here.
      logger.error({ err: error }, 'a cached response could not be sent');
      if (response.headersSent) response.destroy();
      return response.headersSent;
    }
  };
}
