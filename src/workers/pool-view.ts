import type { AdminView } from '../monitoring/admin-server.ts';
import { metricsOf, processMetrics } from '../monitoring/metrics.ts';
import { DRAINING, registerReady, type ReadinessReport } from '../monitoring/readiness.ts';
import type { WorkerReport } from './messages.ts';
import type { PoolProgress } from './worker-pool.ts';
import { aggregate, type WorkerReports } from './worker-reports.ts';

/** The admin view of the primary process: all its workers as one service. */
export function poolView(pool: { readonly progress: PoolProgress }, reports: WorkerReports): AdminView {
  const own = processMetrics();
  const { counter, gauge } = metricsOf(own);
  gauge('pds_workers', 'Configured number of worker processes', () => pool.progress.size);
  gauge('pds_workers_serving', 'Worker processes currently serving', () => pool.progress.serving.size);
  counter(
    'pds_worker_replacements_total',
    'Workers that exited unexpectedly and were replaced',
    () => pool.progress.replacements,
  );
  return {
    async readReadiness() {
      const { phase, serving } = pool.progress;
      return readinessOf(pool.progress, phase === 'serving' ? await reports.collect(serving, false) : new Map());
    },
    async readMetrics() {
      const collected = await reports.collect(pool.progress.serving, true);
      const all = aggregate([await own.getMetricsAsJSON(), ...reports.metrics]);
      // Aggregation drops it because it has no meaning across processes. The primary's value shows when the service
      // started.
      const startedAt = own.getSingleMetric('process_start_time_seconds');
      if (startedAt !== undefined) all.registerMetric(startedAt);
      registerReady(all, async () => readinessOf(pool.progress, collected));
      return all.metrics();
    },
  };
}

/**
 * The service becomes ready once all workers serve, and stays ready while at least one worker is. Problems of the
 * others are then reported as degradations.
 */
function readinessOf(
  { phase, size, serving }: PoolProgress,
  collected: ReadonlyMap<number, WorkerReport>,
): ReadinessReport {
  if (phase === 'ending') return { reasons: [DRAINING], degradations: [] };
  if (phase === 'starting') return { reasons: ['starting'], degradations: [] };
  const reports = [...collected.values()].map(({ readiness }) => readiness);
  const isReady = reports.some(({ reasons }) => reasons.length === 0);
  const problems = new Set(reports.flatMap(({ reasons }) => reasons));
  const missing = size - serving.size;
  const silent = serving.size - collected.size;
  const amongWorkers = [
    ...(missing > 0 ? [`${missing} of ${size} workers are being replaced`] : []),
    ...(silent > 0 ? [`${silent} of ${size} workers do not respond`] : []),
  ];
  const degradations = new Set(reports.flatMap((report) => report.degradations));
  return isReady
    ? { reasons: [], degradations: [...amongWorkers, ...[...problems].map((it) => `a worker: ${it}`), ...degradations] }
    : { reasons: [...problems, ...amongWorkers], degradations: [...degradations] };
}
