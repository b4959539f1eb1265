import { Counter, Histogram, type Registry } from 'prom-client';
import type { RequestObserver } from '../http/request/observers.ts';

/** In seconds. A cached response takes a tenth of the first bound; the last is the query timeout. */
const DURATION_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Label of requests that match no route, since clients can send any number of different URLs. */
const NO_ROUTE = 'none';

/** Label of requests without a valid key. */
const NO_PARTNER = '';

/** Label of requests whose client disconnected before the response was complete. */
const ABORTED = 'aborted';

/** Registers the metrics of requests, and returns what counts a finished request. */
export function requestMetrics(registry: Registry): RequestObserver {
  const registers = [registry];
  const requests = new Counter({
    name: 'pds_http_requests_total',
    help: 'Requests by endpoint, status and partner. The partner is empty without a valid key; the status is "aborted" if the client disconnected',
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
  return ({ route: found, status, durationMs, partner: caller, rows }) => {
    const route = found ?? NO_ROUTE;
    const partner = caller?.name ?? NO_PARTNER;
    requests.inc({ route, status: status ?? ABORTED, partner });
    if (rows > 0) records.inc({ route, partner }, rows);
    durations.observe({ route }, durationMs / 1000);
  };
}
