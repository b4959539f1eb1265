import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Counter, Histogram, type Registry } from 'prom-client';

/** A finished request. */
export type ObservedRequest = ReturnType<typeof observedRequest>;

/** Called for each finished request. Must be fast and must not throw. */
export type RequestObserver = (request: ObservedRequest) => void;

/** Notifies the observers once the response is sent or its connection is closed. */
export function observeWhenClosed(observers: readonly RequestObserver[], request: FastifyRequest, reply: FastifyReply) {
  reply.raw.on('close', () => {
    const observed = observedRequest(request, reply);
    for (const observe of observers) observe(observed);
  });
}

function observedRequest(request: FastifyRequest, { raw: response, elapsedTime: durationMs }: FastifyReply) {
  const { id, headers, method, caller, routeOptions, sentRows, refusal } = request;
  const status = response.writableFinished ? response.statusCode : null;
  return {
    id,
    /** Of the trace that the client or a proxy named. */
    traceId: parseTraceId(headers['traceparent']),
    method,
    route: routeOptions.url ?? null,
    durationMs,
    partner: caller?.partner ?? null,
    /** The key's public ID; null if no key was accepted. */
    keyId: caller?.keyId ?? null,
    /** Null if the client disconnected before it received the whole response. */
    status,
    /** Number of records in the response; a 304 has none. */
    rows: status === 200 ? sentRows : 0,
    /** The 4xx that the request was refused with. */
    refusal,
  };
}

/** https://www.w3.org/TR/trace-context/#traceparent-header, in any version whose header begins like version 00. */
function parseTraceId(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const [, traceId] =
    /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/.exec(String(header)) ?? [];
  return traceId;
}

/** Logs a line per request, with the reason of a 4xx. It names the route, never the URL, which can contain a secret. */
export function logRequests(log: Pick<Logger, 'info'>): RequestObserver {
  return ({ id, traceId, method, route, status, durationMs, partner, keyId, rows, refusal }) =>
    log.info(
      {
        requestId: id,
        traceId,
        method,
        route,
        status,
        durationMs: Math.round(durationMs * 100) / 100,
        partner: partner?.name ?? null,
        keyId,
        rows,
        ...refusal?.logged,
      },
      status === null ? 'request aborted' : 'request answered',
    );
}

/** In seconds. A cached response takes a tenth of the first bound; the last is the query timeout. */
const DURATION_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Registers the metrics of requests, and returns what counts a finished request. */
export function requestMetrics(registry: Registry): RequestObserver {
  const registers = [registry];
  const requests = new Counter({
    name: 'pds_http_requests_total',
    help: 'Requests by endpoint, status and partner. The partner is empty without a key that was issued here; the status is "aborted" if the client disconnected',
    labelNames: ['route', 'status', 'partner'],
    registers,
  });
  const records = new Counter({
    name: 'pds_records_total',
    help: 'Records returned, by endpoint and partner',
    labelNames: ['route', 'partner'],
    registers,
  });
  const durations = new Histogram({
    name: 'pds_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response, by endpoint',
    labelNames: ['route'],
    buckets: DURATION_BOUNDS,
    registers,
  });
  return ({ route: found, status, durationMs, partner: caller, rows, refusal }) => {
    // One label for all that match no route: clients can send any number of different URLs.
    const route = found ?? 'none';
    // An expired or revoked key has one too.
    const partner = caller?.name ?? refusal?.logged['partner'] ?? '';
    requests.inc({ route, status: status ?? 'aborted', partner });
    if (rows > 0) records.inc({ route, partner }, rows);
    durations.observe({ route }, durationMs / 1000);
  };
}
