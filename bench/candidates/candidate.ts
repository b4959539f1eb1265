import type { HttpRequest } from '../load/load.ts';
import type { StartedProcess } from '../machine/processes.ts';
import type { Question } from './question.ts';

/** A server that answers, and how to ask it. */
export interface RunningCandidate {
  readonly name: string;
  readonly process: StartedProcess;
  readonly port: number;
  /** Of a request in this round. */
  headers(round: number): Record<string, string>;
  /** The request that asks this; null where the product cannot do it. */
  requestFor(question: Question): HttpRequest | null;
  /** Gives the same bytes whatever is asked, so that its requests may be asked again. */
  readonly isFixed: boolean;
  /** PostgreSQL's CPU time is counted as its own. */
  readonly usesPostgres: boolean;
  /** Said beside its figures. */
  readonly remark?: string;
  stop(): Promise<void>;
}
