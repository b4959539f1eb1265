// Messages between the primary process and its workers.

import type { Registry } from 'prom-client';
import type { ReadinessReport } from '../monitoring/readiness.ts';

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
