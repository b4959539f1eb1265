import type { HttpRequest } from '../load/load.ts';
import type { Question } from './question.ts';

/** A running server, and how to send it requests. */
export interface RunningCandidate {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  /** The headers of requests in this round. */
  readonly headers: (round: number) => Record<string, string>;
  /** The request for this question; null if the product does not support it. */
  requestFor(question: Question): HttpRequest | null;
  /** Its database; undefined if that is the plain tables, or none. */
  readonly database?: { readonly url: string };
  /** Whether PostgreSQL's CPU time counts towards it. */
  readonly usesPostgres: boolean;
  /** How to read all solicitations in its largest pages; undefined if that is not measured. */
  readonly allPages?: AllPages;
  stop(): Promise<void>;
}

/** Paths of the pages of a list. */
export interface AllPages {
  first: string;
  /** The path of the next page; `{cursor}`, `{id}` and `{read}` are its cursor, the last id and the records so far. */
  next: string;
}
