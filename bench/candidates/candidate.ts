import type { HttpRequest } from '../load/load.ts';
import type { StartedProcess } from '../machine/processes.ts';
import type { Question } from './question.ts';

/** A running server, and how to send it requests. */
export interface RunningCandidate {
  readonly name: string;
  readonly process: StartedProcess;
  readonly port: number;
  /** The headers of requests in this round. */
  headers(round: number): Record<string, string>;
  /** The request for this question; null if the product does not support it. */
  requestFor(question: Question): HttpRequest | null;
  /** Responds with the same bytes to every request, so requests can be repeated. */
  readonly isFixed: boolean;
  /** Whether PostgreSQL's CPU time counts towards it. */
  readonly usesPostgres: boolean;
  /** Shown next to its figures. */
  readonly remark?: string;
  stop(): Promise<void>;
}
