// Messages between the primary process and its workers.

import type { ReadinessReport } from '../monitoring/readiness.ts';
import type { MetricValues } from './worker-reports.ts';

/** A worker's return of its lease for one key and window. */
export interface Returned {
  readonly key: string;
  /** Identifies the window; one that has ended is ignored. Null if the worker holds nothing. */
  readonly endsAtMs: number | null;
  /** Unused requests of the lease. */
  readonly unused: number;
  /** Requests that the worker refused on its own after it learned that the quota was exhausted. */
  readonly refused: number;
}

/** Requests a lease. The sender also returns everything it holds for the key. */
export interface Ask extends Returned {
  readonly type: 'ask';
  /** The quota of the first waiting request. */
  readonly quota: number;
  /** Number of waiting requests, 1 or more. */
  readonly wanted: number;
}

/** The response to a recall. */
export interface Return extends Returned {
  readonly type: 'return';
}

/** Grants a lease: the worker can accept `size` requests before the window ends, and they are reserved for it. */
export interface Grant {
  readonly type: 'grant';
  readonly key: string;
  readonly endsAtMs: number;
  /** The quota given in the ask. */
  readonly quota: number;
  readonly size: number;
  /** Requests used or leased in this window, including this lease. */
  readonly taken: number;
}

/** The first waiting request is refused. */
export interface Refusal {
  readonly type: 'refusal';
  readonly key: string;
  readonly endsAtMs: number;
  /** The quota given in the ask. */
  readonly quota: number;
  /** Requests used or leased in this window, including this one. */
  readonly taken: number;
}

/** Recalls a worker's lease for a key. */
export interface Recall {
  readonly type: 'recall';
  readonly key: string;
}

/** Requests a status report from a worker. */
export interface Look {
  readonly type: 'look';
  /** Returned with the report. */
  readonly number: number;
  readonly wantsMetrics: boolean;
}

/** The response to a `Look`. */
export interface WorkerReport {
  readonly type: 'report';
  readonly number: number;
  readonly readiness: ReadinessReport;
  /** Null if they were not requested. */
  readonly metrics: MetricValues | null;
}

export type CountsMessage = Ask | Return;
export type LeaseMessage = Grant | Refusal | Recall;

export type ToPrimary =
  | CountsMessage
  | WorkerReport
  /** The worker is accepting requests. */
  | { readonly type: 'serving'; readonly origin: string }
  /** The worker could not start and exits. The message is for the operator. */
  | { readonly type: 'failed'; readonly message: string };

export type ToWorker =
  | LeaseMessage
  | Look
  /** Finish requests in flight, then exit. */
  | { readonly type: 'end' };
