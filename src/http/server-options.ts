import { LogController, type FastifyBaseLogger, type FastifyServerOptions } from 'fastify';
import type { Services } from '../services.ts';
import { sendError } from './error-handling.ts';
import { requestIds } from './request-id.ts';
import { makeRequestLogger } from './request-logger.ts';
import { routedUrl } from './request-target.ts';

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

/** Options of the HTTP server and of Fastify. */
export function serverOptions({ config, logger }: Services) {
  return {
    loggerInstance: logger as FastifyBaseLogger,
    // `request-observers.ts` writes the single log line per request.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    childLoggerFactory: makeRequestLogger,
    genReqId: requestIds(),
    requestIdHeader: false,
    // X-Forwarded-For is trusted from these addresses only; clients can forge the leftmost address in it.
    trustProxy: config.trustedProxies.length > 0 ? [...config.trustedProxies] : false,
    rewriteUrl: ({ url = '/' }) => routedUrl(url),
    routerOptions: {
      // `parameters.ts` parses the query, from the raw URL.
      querystringParser: () => ({}),
      // The limit on the head also limits the length of an ID; an ID that is too long simply does not exist.
      maxParamLength: MAX_HEAD_BYTES,
    },
    frameworkErrors: sendError,
    // `unparsed-requests.ts` responds to all of these errors.
    clientErrorHandler: () => undefined,
    return503OnClosing: false,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionTimeout: IDLE_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
      requireHostHeader: false,
    },
  } satisfies FastifyServerOptions & { http: object };
}
