import { collectDefaultMetrics, Registry } from 'prom-client';
import manifest from '../../package.json' with { type: 'json' };
import type { Engine } from '../database/database.ts';
import type { ObservedParts } from './observed-parts.ts';
import { registerPartMetrics } from './part-metrics.ts';
import { registerReadMetric } from './read-metric.ts';
import type { RequestMetrics } from './request-metrics.ts';

/** All metrics of a process that serves requests. */
export function servingMetrics(engine: Engine, requests: RequestMetrics, parts: ObservedParts): Registry {
  const registry = processMetrics();
  registerReadMetric(registry, {
    name: 'pds_build_info',
    help: 'Always 1; the labels say what runs.',
    type: 'gauge',
    ofWorkers: 'max',
    read: () => [{ labels: { version: manifest.version, node_version: process.version, engine }, value: 1 }],
  });
  requests.register(registry);
  registerPartMetrics(registry, parts);
  return registry;
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
