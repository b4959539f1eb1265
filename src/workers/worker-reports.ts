import { AggregatorRegistry, type Registry } from 'prom-client';
import type { Look, WorkerReport } from './messages.ts';

/** A process's metric values, in the form that prom-client passes between processes. */
export type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** How long to wait for reports: a worker that hangs must not block probes and scrapes. */
const PATIENCE_MS = 1_000;

/**
 * A worker that left this many looks unanswered gets no more until it responds, because messages to it would pile up.
 */
const MAX_UNANSWERED = 3;

/** State of a worker that was asked before. */
interface KnownWorker {
  unanswered: number;
  /** Its last reported metrics. */
  metrics: MetricValues;
}

/** One round of reports from all workers. */
interface Round {
  readonly waitingFor: Set<number>;
  readonly reports: Map<number, WorkerReport>;
  readonly end: () => void;
}

/**
 * Collects the workers' reports in their primary process. A worker that has exited or does not respond within a second
 * does not reduce any sum: what it counted up to its last report is still included. A counter that falls looks like a
 * restart to Prometheus, which would then count everything again.
 */
export class WorkerReports {
  readonly #send: (worker: number, look: Look) => void;
  readonly #known = new Map<number, KnownWorker>();
  readonly #rounds = new Map<number, Round>();
  #lastRound = 0;
  /** Totals of the workers that have exited. */
  #retired: MetricValues = [];

  constructor(send: (worker: number, look: Look) => void) {
    this.#send = send;
  }

  /**
   * Requests a report from each of these workers. Workers that do not respond within a second are missing in the
   * result.
   */
  async ask(workers: Iterable<number>, wantsMetrics: boolean): Promise<ReadonlyMap<number, WorkerReport>> {
    this.#lastRound += 1;
    const number = this.#lastRound;
    const { promise, resolve } = Promise.withResolvers<null>();
    const round: Round = { waitingFor: new Set(), reports: new Map(), end: () => resolve(null) };
    this.#rounds.set(number, round);
    for (const worker of workers) {
      const known = this.#known.get(worker) ?? { unanswered: 0, metrics: [] };
      this.#known.set(worker, known);
      if (known.unanswered >= MAX_UNANSWERED) continue;
      known.unanswered += 1;
      round.waitingFor.add(worker);
      this.#send(worker, { type: 'look', number, wantsMetrics });
    }
    if (round.waitingFor.size > 0) {
      const timer = setTimeout(round.end, PATIENCE_MS);
      await promise;
      clearTimeout(timer);
    }
    this.#rounds.delete(number);
    return round.reports;
  }

  /** Handles a worker's report. */
  receive(worker: number, report: WorkerReport): void {
    const known = this.#known.get(worker);
    // A report can arrive after its worker was removed.
    if (known === undefined) return;
    known.unanswered = 0;
    if (report.metrics !== null) known.metrics = report.metrics;
    const round = this.#rounds.get(report.number);
    round?.reports.set(worker, report);
    this.#stopWaiting(round, worker);
  }

  /** Removes a worker that has exited. */
  forget(worker: number): void {
    const known = this.#known.get(worker);
    if (known === undefined) return;
    this.#known.delete(worker);
    // Its gauges end with it, but the events it counted did happen.
    const counted = known.metrics.filter(({ type }) => COUNTED.has(String(type)));
    this.#retired = sumOf([this.#retired, counted]);
    for (const round of this.#rounds.values()) this.#stopWaiting(round, worker);
  }

  /** The last reported metrics of all workers, including those that have exited. */
  get metrics(): readonly MetricValues[] {
    return [this.#retired, ...[...this.#known.values()].map(({ metrics }) => metrics)];
  }

  #stopWaiting(round: Round | undefined, worker: number): void {
    if (round?.waitingFor.delete(worker) === true && round.waitingFor.size === 0) round.end();
  }
}

const COUNTED = new Set(['counter', 'histogram']);

/** Merges the metrics of several processes into one registry. */
export function aggregate(metrics: readonly MetricValues[]): Registry {
  return AggregatorRegistry.aggregate([...metrics]);
}

function sumOf(metrics: readonly MetricValues[]): MetricValues {
  return aggregate(metrics).getMetricsAsArray() as unknown as MetricValues;
}
