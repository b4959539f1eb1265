import { collectDefaultMetrics, Registry } from 'prom-client';
import manifest from '../../package.json' with { type: 'json' };
import type { Engine } from '../database/database.ts';
import type { ObservedParts } from './observed-parts.ts';
import { registerPartMetrics } from './part-metrics.ts';
import { registerReadMetric } from './read-metric.ts';
import type { RequestMetrics } from './request-metrics.ts';

/** All metrics of a process that answers requests. */
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

/** Of the library: numbers of the moment with the names of counters, which checks of names refuse. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** What there is to tell of any process of Node: memory, processor time, event loop, descriptors. */
export function processMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return registry;
}
