import { LogController, type FastifyBaseLogger, type FastifyServerOptions } from 'fastify';
import type { Services } from '../services.ts';
import { sendError } from './error-handling.ts';
import { requestIds } from './request-id.ts';
import { makeRequestLogger } from './request-logger.ts';
import { routedUrl } from './request-target.ts';

/** Of the request line and all headers together. */
export const LONGEST_HEAD_BYTES = 16_384;

/*
 * A client that sends slowly, or does not read, holds a connection; Node's own bounds are a
 * minute and five. An honest request is one packet, and its answer a few.
 */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
const CONNECTIONS_CHECK_MS = 1_000;
const IDLE_TIMEOUT_MS = 90_000;

/** Longer than the idle timeout of common load balancers (60 s), which must be the ones to close first. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** How the HTTP server and the framework are set up. */
export function serverOptions({ config, logger }: Services) {
  return {
    loggerInstance: logger as FastifyBaseLogger,
    // `request-observers.ts` writes the one line that a request gets.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    childLoggerFactory: makeRequestLogger,
    genReqId: requestIds(),
    requestIdHeader: false,
    // Only from these is X-Forwarded-For believed; the leftmost address in it is anyone's invention.
    trustProxy: config.trustedProxies.length > 0 ? [...config.trustedProxies] : false,
    rewriteUrl: ({ url = '/' }) => routedUrl(url),
    routerOptions: {
      // The query is read by `parameters.ts`, from the address as it came.
      querystringParser: () => ({}),
      // The length of an id is bounded by that of the head; one that is too long does not exist.
      maxParamLength: LONGEST_HEAD_BYTES,
    },
    frameworkErrors: sendError,
    // All of these errors are answered by `unparsed-requests.ts`.
    clientErrorHandler: () => undefined,
    return503OnClosing: false,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionTimeout: IDLE_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      maxHeaderSize: LONGEST_HEAD_BYTES,
      requireHostHeader: false,
    },
  } satisfies FastifyServerOptions & { http: object };
}
