import cluster, { type Worker } from 'node:cluster';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { ReadinessReport } from '../monitoring/readiness.ts';

/** A worker that ran at least this long did not die early. */
const STABLE_MS = 10_000;

/** The pause before replacing a worker that died early, doubled each time its replacement does too. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 30_000;

/** After this many failed starts in a row, with no worker serving, the service ends so that the failure is visible. */
const MAX_FAILED_STARTS = 5;

interface WorkerPoolOptions {
  readonly size: number;
  /** The workers' command-line arguments after `pds`. */
  readonly args: readonly string[];
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  onReport(worker: number, report: WorkerReport): void;
  onGone(worker: number): void;
  /** No worker is serving, and none can be started. */
  onLost(reason: string): void;
}

/** State of the workers. */
export interface PoolProgress {
  readonly phase: 'starting' | 'serving' | 'ending';
  readonly size: number;
  /** IDs of the workers that are serving requests. */
  readonly serving: ReadonlySet<number>;
  readonly replacements: number;
}

/** The record of a worker and its predecessors. */
interface History {
  /** In a row: workers that ended within {@link STABLE_MS}. */
  readonly earlyDeaths: number;
  /** In a row: workers that ended before they served requests. */
  readonly failedStarts: number;
}

/** Keeps the configured number of workers running in one primary process. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  /** By worker ID. Node's own list holds a worker until both its exit and the close of its channel were seen. */
  readonly #workers = new Map<number, Worker>();
  readonly #serving = new Set<number>();
  #phase: PoolProgress['phase'] = 'starting';
  #replacements = 0;
  /** Why the last failed start failed. */
  #reason = '';
  #started = Promise.withResolvers<string>();
  #ended = Promise.withResolvers<null>();
  #hasFailedToEnd = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  /**
   * Starts all workers.
   *
   * @returns the URL at which they serve, once all of them do.
   * @throws Error with the reason of the first that fails.
   */
  start(): Promise<string> {
    // Workers share the listening socket and the operating system wakes an idle one, so the primary takes no part in
    // requests.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ args: [...this.#options.args] });
    for (let count = 0; count < this.#options.size; count += 1) this.#fork({ earlyDeaths: 0, failedStarts: 0 });
    return this.#started.promise;
  }

  get progress(): PoolProgress {
    const phase = this.#phase;
    return { phase, size: this.#options.size, serving: this.#serving, replacements: this.#replacements };
  }

  send(worker: number, message: ToWorker): void {
    const addressee = this.#workers.get(worker);
    // A worker that has died meanwhile needs no message.
    if (addressee?.isConnected() === true) addressee.send(message, undefined, undefined, () => undefined);
  }

  /**
   * Lets every worker finish its requests in flight and exit.
   *
   * @throws Error if one had to be cut off.
   */
  async end(): Promise<void> {
    this.#phase = 'ending';
    for (const id of this.#workers.keys()) this.send(id, { type: 'end' });
    if (this.#workers.size > 0) await this.#ended.promise;
    if (this.#hasFailedToEnd) throw new Error('a worker exited before it had completed its requests');
  }

  kill(): void {
    this.#phase = 'ending';
    for (const worker of this.#workers.values()) worker.process.kill('SIGKILL');
  }

  #fork(history: History): void {
    const startedAtMs = performance.now();
    const worker = cluster.fork();
    this.#workers.set(worker.id, worker);
    // The primary sends counts to workers that may have died meanwhile; 'exit' handles that.
    worker.on('error', () => undefined);
    worker.on('message', (message: ToPrimary) => this.#receive(worker.id, message));
    worker.once('exit', (code: number | null, signal: string | null) => {
      this.#workers.delete(worker.id);
      const hasServed = this.#serving.delete(worker.id);
      const isEarly = performance.now() - startedAtMs < STABLE_MS;
      this.#options.onGone(worker.id);
      this.#handleExit(worker, code, signal, {
        earlyDeaths: isEarly ? history.earlyDeaths + 1 : 0,
        failedStarts: hasServed ? 0 : history.failedStarts + 1,
      });
    });
  }

  #receive(worker: number, message: ToPrimary): void {
    if (message.type === 'serving') {
      this.#serving.add(worker);
      if (this.#phase !== 'starting' || this.#serving.size < this.#options.size) return;
      this.#phase = 'serving';
      this.#started.resolve(message.origin);
    } else if (message.type === 'failed') {
      this.#reason = message.message;
    } else if (message.type === 'report') {
      this.#options.onReport(worker, message);
    }
  }

  #handleExit(worker: Worker, code: number | null, signal: string | null, history: History): void {
    if (this.#phase === 'ending') {
      if (code !== 0) this.#hasFailedToEnd = true;
      if (this.#workers.size === 0) this.#ended.resolve(null);
      return;
    }
    const reason = this.#reason || `a worker process exited unexpectedly (${signal ?? `exit code ${code}`})`;
    this.#reason = '';
    if (this.#phase === 'starting') {
      this.#started.reject(new Error(reason));
    } else if (this.#serving.size === 0 && history.failedStarts >= MAX_FAILED_STARTS) {
      this.#options.onLost(reason);
    } else {
      this.#replace(worker, reason, history);
    }
  }

  #replace(worker: Worker, reason: string, history: History): void {
    const { earlyDeaths } = history;
    this.#replacements += 1;
    const pauseMs = earlyDeaths === 0 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (earlyDeaths - 1));
    this.#options.logger.warn({ worker: worker.process.pid, reason, pauseMs }, 'a worker is replaced');
    setTimeout(() => {
      if (this.#phase === 'serving') this.#fork(history);
    }, pauseMs);
  }
}

// Messages between the primary process and its workers.

/** A process's metric values, in the form that prom-client passes between processes. */
export type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Requests a status report from a worker. */
export interface ReportRequest {
  readonly type: 'report';
  /** Returned with the report. */
  readonly number: number;
  readonly wantsMetrics: boolean;
}

/** The response to a `ReportRequest`. */
export interface WorkerReport {
  readonly type: 'report';
  readonly number: number;
  readonly readiness: ReadinessReport;
  /** Null if they were not requested. */
  readonly metrics: MetricValues | null;
}

/** What rate-limiter-flexible sends on the same channel, and receives itself. */
interface LimiterMessage {
  readonly channel: 'rate_limiter_flexible';
  readonly type?: 'init' | 'resolve' | 'reject';
}

export type ToPrimary =
  | LimiterMessage
  | WorkerReport
  /** The worker is accepting requests. */
  | { readonly type: 'serving'; readonly origin: string }
  /** The worker could not start and exits. The message is for the operator. */
  | { readonly type: 'failed'; readonly message: string };

export type ToWorker =
  | LimiterMessage
  | ReportRequest
  /** Finish requests in flight, then exit. */
  | { readonly type: 'end' };
