import { AggregatorRegistry, type Registry } from 'prom-client';
import type { MetricValues, ReportRequest, WorkerReport, PoolProgress } from './worker-pool.ts';
import type { AdminView } from '../monitoring/admin-server.ts';
import { metricsOf, processMetrics } from '../monitoring/metrics.ts';
import { DRAINING, registerReady, type ReadinessReport } from '../monitoring/readiness.ts';

/** How long to wait for reports: a worker that hangs must not block probes and scrapes. */
const RESPONSE_TIMEOUT_MS = 1_000;

/** A worker with this many unanswered requests gets no more until it responds: messages to it would pile up. */
const MAX_UNANSWERED = 3;

/**
 * Collects the workers' reports in their primary process. A worker that has exited or does not respond within a second
 * does not reduce any sum: what it counted up to its last report is still included. A counter that falls looks like a
 * restart to Prometheus, which would then count everything again. (`AggregatorRegistry.clusterMetrics()` of prom-client
 * fails if one worker is silent, and forgets those that have exited.)
 */
export class WorkerReports {
  readonly #send: (worker: number, request: ReportRequest) => void;
  readonly #workers = new Map<number, { unanswered: number; metrics: MetricValues }>();
  /** By request number. */
  readonly #pending = new Map<number, { worker: number; resolve: (report: WorkerReport | null) => void }>();
  #lastNumber = 0;
  /** Totals of the workers that have exited. */
  #retired: MetricValues = [];

  constructor(send: (worker: number, request: ReportRequest) => void) {
    this.#send = send;
  }

  /** Workers that do not respond within a second are missing in the result. */
  async collect(workers: Iterable<number>, wantsMetrics: boolean): Promise<WorkerReport[]> {
    const reports = await Promise.all(Array.from(workers, (worker) => this.#request(worker, wantsMetrics)));
    return reports.filter((report) => report !== null);
  }

  receive(worker: number, report: WorkerReport): void {
    const state = this.#workers.get(worker);
    // A report can arrive after its worker was removed.
    if (state === undefined) return;
    state.unanswered = 0;
    if (report.metrics !== null) state.metrics = report.metrics;
    this.#pending.get(report.number)?.resolve(report);
  }

  forget(worker: number): void {
    const state = this.#workers.get(worker);
    if (state === undefined) return;
    this.#workers.delete(worker);
    // Its gauges end with it, but the events it counted did happen.
    const counted = state.metrics.filter(({ type }) => COUNTED.has(String(type)));
    this.#retired = aggregate([this.#retired, counted]).getMetricsAsArray() as unknown as MetricValues;
    for (const pending of this.#pending.values()) if (pending.worker === worker) pending.resolve(null);
  }

  /** The last reported metrics of all workers, including those that have exited. */
  get metrics(): readonly MetricValues[] {
    return [this.#retired, ...[...this.#workers.values()].map(({ metrics }) => metrics)];
  }

  async #request(worker: number, wantsMetrics: boolean): Promise<WorkerReport | null> {
    const state = this.#workers.get(worker) ?? { unanswered: 0, metrics: [] };
    this.#workers.set(worker, state);
    if (state.unanswered >= MAX_UNANSWERED) return null;
    state.unanswered += 1;
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    const { promise, resolve } = Promise.withResolvers<WorkerReport | null>();
    this.#pending.set(number, { worker, resolve });
    const timer = setTimeout(() => resolve(null), RESPONSE_TIMEOUT_MS);
    this.#send(worker, { type: 'report', number, wantsMetrics });
    const report = await promise;
    clearTimeout(timer);
    this.#pending.delete(number);
    return report;
  }
}

const COUNTED = new Set(['counter', 'histogram']);

function aggregate(metrics: readonly MetricValues[]): Registry {
  return AggregatorRegistry.aggregate([...metrics]);
}

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
      return readinessOf(pool.progress, phase === 'serving' ? await reports.collect(serving, false) : []);
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
function readinessOf({ phase, size, serving }: PoolProgress, collected: readonly WorkerReport[]): ReadinessReport {
  if (phase === 'ending') return { reasons: [DRAINING], degradations: [] };
  if (phase === 'starting') return { reasons: ['starting'], degradations: [] };
  const reports = collected.map(({ readiness }) => readiness);
  const isReady = reports.some(({ reasons }) => reasons.length === 0);
  const problems = new Set(reports.flatMap(({ reasons }) => reasons));
  const missing = size - serving.size;
  const silent = serving.size - collected.length;
  const amongWorkers = [
    ...(missing > 0 ? [`${missing} of ${size} workers are being replaced`] : []),
    ...(silent > 0 ? [`${silent} of ${size} workers do not respond`] : []),
  ];
  const degradations = new Set(reports.flatMap((report) => report.degradations));
  return isReady
    ? { reasons: [], degradations: [...amongWorkers, ...[...problems].map((it) => `a worker: ${it}`), ...degradations] }
    : { reasons: [...problems, ...amongWorkers], degradations: [...degradations] };
}
