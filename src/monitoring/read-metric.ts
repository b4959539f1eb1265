import type { Metric, Registry } from 'prom-client';

/** One number of a metric. */
export interface Sample {
  /** Where it is not the metric's own: those of a histogram end in `_bucket`, `_sum` and `_count`. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** A metric that is read from what counts or knows it when someone asks, and at no other time. */
export interface ReadMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** What several workers have together; their sum unless said otherwise. */
  readonly ofWorkers?: 'min' | 'max';
  /** None where there is nothing to tell. */
  readonly read: () => readonly Sample[] | Promise<readonly Sample[]>;
}

/**
 * Adds a metric to those that are written out. The library's own metrics hold their values, and
 * those with labels look up theirs by a text that they make at each count; this is all that it
 * asks of one that it writes out or sums up.
 */
export function registerReadMetric(registry: Registry, { read, ofWorkers, ...metric }: ReadMetric): void {
  const get = async (): Promise<object> => ({ ...metric, aggregator: ofWorkers ?? 'sum', values: await read() });
  registry.registerMetric({ name: metric.name, get } as unknown as Metric);
}
