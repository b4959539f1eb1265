import { collectDefaultMetrics, Registry, type Metric, Counter, Histogram } from 'prom-client';
import type { RequestObserver } from '../http/request/observers.ts';

/** One sample of a metric. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** A single value without labels, or samples; undefined if there is nothing to report. */
export type Reading = number | readonly Sample[] | undefined;

/**
 * Registers a metric whose value is read from its source on each scrape, and never stored.
 *
 * @param ofWorkers how to aggregate workers; the sum by default.
 */
type Register = (name: string, help: string, read: () => Reading | Promise<Reading>, ofWorkers?: 'min' | 'max') => void;

/**
 * The functions that register metrics of values that other parts already keep. `name` and `get` are all that prom-client
 * needs to print or aggregate a metric.
 */
export function metricsOf(registry: Registry): Readonly<Record<'counter' | 'gauge', Register>> {
  const registerAs =
    (type: string): Register =>
    (name, help, read, ofWorkers) => {
      const get = async (): Promise<object> => {
        const reading = await read();
        const values = typeof reading === 'number' ? [{ labels: {}, value: reading }] : (reading ?? []);
        return { name, help, type, aggregator: ofWorkers ?? 'sum', values };
      };
      registry.registerMetric({ name, get } as unknown as Metric);
    };
  return { counter: registerAs('counter'), gauge: registerAs('gauge') };
}

/** Gauges of prom-client that are named like counters, which metric linters reject. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Metrics of any Node process: memory, CPU time, event loop, file descriptors. */
export function processMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return registry;
}

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
