import type { Metric, Registry } from 'prom-client';

/** One sample of a metric. */
export interface Sample {
  /** Set if it differs from the metric's name: a histogram's samples end in `_bucket`, `_sum` and `_count`. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** A metric whose value is read from its source on each scrape, and never stored. */
export interface ReadMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** How to aggregate workers; the sum by default. */
  readonly ofWorkers?: 'min' | 'max';
  /** Returns no samples if there is nothing to report. */
  readonly read: () => readonly Sample[] | Promise<readonly Sample[]>;
}

/**
 * Registers a metric. prom-client's own metrics store their values, and look up labels by a string that they build on
 * each increment. `name` and `get` are all that it needs to print or aggregate a metric.
 */
export function registerReadMetric(registry: Registry, { read, ofWorkers, ...metric }: ReadMetric): void {
  const get = async (): Promise<object> => ({ ...metric, aggregator: ofWorkers ?? 'sum', values: await read() });
  registry.registerMetric({ name: metric.name, get } as unknown as Metric);
}
