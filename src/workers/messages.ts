// What the primary process and its workers tell each other.

import type { ReadinessReport } from '../monitoring/readiness.ts';
import type { MetricValues } from './worker-reports.ts';

/** What a worker gives back of what it was given for one key and one window. */
export interface Returned {
  readonly key: string;
  /** Which window: one that is over is of no interest. Null where the worker holds nothing. */
  readonly endsAtMs: number | null;
  /** Requests of the lease that were not made. */
  readonly unused: number;
  /** Requests that the worker refused by itself since it was told that the quota is used up. */
  readonly refused: number;
}

/** Asks for the right to let requests pass. Whoever asks gives back all that it holds for the key. */
export interface Ask extends Returned {
  readonly type: 'ask';
  /** Of the request that comes first. */
  readonly quota: number;
  /** How many requests are waiting, 1 or more. */
  readonly wanted: number;
}

/** The answer to a recall. */
export interface Return extends Returned {
  readonly type: 'return';
}

/** The worker may let so many requests pass before the window ends; nobody else will be given them. */
export interface Grant {
  readonly type: 'grant';
  readonly key: string;
  readonly endsAtMs: number;
  /** That of the ask. */
  readonly quota: number;
  readonly size: number;
  /** How many of the window are used or given to someone, these included. */
  readonly taken: number;
}

/** The request that asked is refused. */
export interface Refusal {
  readonly type: 'refusal';
  readonly key: string;
  readonly endsAtMs: number;
  /** That of the ask. */
  readonly quota: number;
  /** How many were counted in the window, this one included. */
  readonly taken: number;
}

/** Asks a worker to give back what it holds for a key. */
export interface Recall {
  readonly type: 'recall';
  readonly key: string;
}

/** Asks a worker how it is. */
export interface Look {
  readonly type: 'look';
  /** Comes back with the report. */
  readonly number: number;
  readonly wantsMetrics: boolean;
}

/** The answer to a look. */
export interface WorkerReport {
  readonly type: 'report';
  readonly number: number;
  readonly readiness: ReadinessReport;
  /** Null where they were not asked for. */
  readonly metrics: MetricValues | null;
}

export type CountsMessage = Ask | Return;
export type LeaseMessage = Grant | Refusal | Recall;

export type ToPrimary =
  | CountsMessage
  | WorkerReport
  /** The worker answers requests. */
  | { readonly type: 'serving'; readonly origin: string }
  /** The worker could not start, and ends. The message is for the operator. */
  | { readonly type: 'failed'; readonly message: string };

export type ToWorker =
  | LeaseMessage
  | Look
  /** Answer what is in flight, and end. */
  | { readonly type: 'end' };
