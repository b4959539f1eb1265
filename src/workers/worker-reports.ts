import { AggregatorRegistry, type Registry } from 'prom-client';
import type { Look, WorkerReport } from './messages.ts';

/** The values of a process's metrics, as the library hands them from process to process. */
export type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** A worker that hangs must not keep those waiting who ask how the service is. */
const PATIENCE_MS = 1_000;

/** Who left so many looks unanswered is not asked again before it answers one: messages to it would pile up. */
const MOST_UNANSWERED = 3;

/** What is known of a worker that was asked before. */
interface KnownWorker {
  unanswered: number;
  /** The last that it reported. */
  metrics: MetricValues;
}

/** A question to all workers. */
interface Round {
  readonly waitingFor: Set<number>;
  readonly reports: Map<number, WorkerReport>;
  readonly end: () => void;
}

/**
 * What the workers report of themselves, gathered in their primary process. One that is gone or
 * does not answer within a second makes no sum smaller: what it counted up to its last report
 * stays in, since a sum that falls looks like a restart, after which all of it would count again.
 */
export class WorkerReports {
  readonly #send: (worker: number, look: Look) => void;
  readonly #known = new Map<number, KnownWorker>();
  readonly #rounds = new Map<number, Round>();
  #lastRound = 0;
  /** What those counted that are gone. */
  #retired: MetricValues = [];

  constructor(send: (worker: number, look: Look) => void) {
    this.#send = send;
  }

  /** Asks these workers. Who has not answered in a second is missing in what is returned. */
  async ask(workers: Iterable<number>, wantsMetrics: boolean): Promise<ReadonlyMap<number, WorkerReport>> {
    this.#lastRound += 1;
    const number = this.#lastRound;
    const { promise, resolve } = Promise.withResolvers<null>();
    const round: Round = { waitingFor: new Set(), reports: new Map(), end: () => resolve(null) };
    this.#rounds.set(number, round);
    for (const worker of workers) {
      const known = this.#known.get(worker) ?? { unanswered: 0, metrics: [] };
      this.#known.set(worker, known);
      if (known.unanswered >= MOST_UNANSWERED) continue;
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

  /** Takes what a worker has to say. */
  receive(worker: number, report: WorkerReport): void {
    const known = this.#known.get(worker);
    // A last word may come after the end.
    if (known === undefined) return;
    known.unanswered = 0;
    if (report.metrics !== null) known.metrics = report.metrics;
    const round = this.#rounds.get(report.number);
    round?.reports.set(worker, report);
    this.#stopWaiting(round, worker);
  }

  /** The worker is gone. */
  forget(worker: number): void {
    const known = this.#known.get(worker);
    if (known === undefined) return;
    this.#known.delete(worker);
    // What it held is gone with it; what it counted did happen.
    const counted = known.metrics.filter(({ type }) => COUNTED.has(String(type)));
    this.#retired = sumOf([this.#retired, counted]);
    for (const round of this.#rounds.values()) this.#stopWaiting(round, worker);
  }

  /** The metrics of all workers, those that are gone included, as they were last reported. */
  get metrics(): readonly MetricValues[] {
    return [this.#retired, ...[...this.#known.values()].map(({ metrics }) => metrics)];
  }

  #stopWaiting(round: Round | undefined, worker: number): void {
    if (round?.waitingFor.delete(worker) === true && round.waitingFor.size === 0) round.end();
  }
}

const COUNTED = new Set(['counter', 'histogram']);

/** Metrics of several processes as those of one. */
export function aggregate(metrics: readonly MetricValues[]): Registry {
  return AggregatorRegistry.aggregate([...metrics]);
}

function sumOf(metrics: readonly MetricValues[]): MetricValues {
  return aggregate(metrics).getMetricsAsArray() as unknown as MetricValues;
}
