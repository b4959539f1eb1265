import { collectDefaultMetrics, Registry, type Metric } from 'prom-client';

export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** A single value without labels, or samples; undefined if there is nothing to report. */
export type Reading = number | readonly Sample[] | undefined;

/** Registers a metric whose value is read from its source on each scrape, and never stored. */
type Register = (name: string, help: string, read: () => Reading | Promise<Reading>) => void;

/**
 * Functions that register metrics whose values other parts keep. `name` and `get` are all that prom-client needs to print
 * a metric.
 */
export function metricsOf(registry: Registry) {
  const registerAs =
    (type: string): Register =>
    (name, help, read) => {
      const get = async (): Promise<object> => {
        const reading = await read();
        const values = typeof reading === 'number' ? [{ labels: {}, value: reading }] : (reading ?? []);
        return { name, help, type, values };
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
