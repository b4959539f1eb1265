import type { AllPages } from '../candidates/candidate.ts';
import type { HttpRequest } from './load.ts';
import { runClient } from './output.ts';

interface Connection {
  port: number;
  headers: Readonly<Record<string, string>>;
}

export interface OneAtATimeOptions extends Connection {
  requests: readonly HttpRequest[];
}

export interface TimedResponse {
  path: string;
  status: number;
  /** From sending the request to the last byte of the response. */
  milliseconds: number;
}

export interface AllPagesOptions extends Connection {
  pages: AllPages;
  /** Stops after the page in which this time has passed. */
  maxSeconds: number;
}

/** What was read, and how long it took. */
export interface ReadOutcome {
  records: number;
  seconds: number;
}

const PROGRAM = 'one-connection-process.ts';

/** Sends each request once over one connection, waiting for each response before the next request. */
export async function askOneAtATime(options: OneAtATimeOptions, isInBackground = false): Promise<TimedResponse[]> {
  return (await runClient(PROGRAM, options, isInBackground)) as TimedResponse[];
}

/** Reads a list from the first page on, one page at a time. */
export async function readAllPages(options: AllPagesOptions): Promise<ReadOutcome> {
  return (await runClient(PROGRAM, options)) as ReadOutcome;
}

/** Whether the status is outside 200 to 399. */
export function isFailure({ status }: TimedResponse): boolean {
  return status < 200 || status >= 400;
}
