import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { AllPages } from '../candidates/candidate.ts';
import { OTHER_CORE } from '../machine/cores.ts';
import { runProgram } from '../machine/processes.ts';
import type { HttpRequest } from './load.ts';

interface Connection {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
}

export interface OneAtATimeOptions extends Connection {
  readonly requests: readonly HttpRequest[];
}

export interface TimedResponse {
  path: string;
  status: number;
  /** From sending the request to the last byte of the response. */
  milliseconds: number;
}

export interface AllPagesOptions extends Connection {
  readonly pages: AllPages;
  /** Stops after the page in which this time has passed. */
  readonly maxSeconds: number;
}

/** The number of records read, and the time. */
export interface ReadOutcome {
  records: number;
  seconds: number;
}

export interface StreamOptions extends Connection {
  readonly path: string;
  /** The file to write the lines to, and a new SQLite file into which they are inserted then; null to only count them. */
  readonly save: { readonly file: string; readonly database: string } | null;
}

/** The number of lines, and how long the inserts took; 0 without. */
export interface StreamOutcome extends ReadOutcome {
  insertSeconds: number;
}

/** Sends each request once over one connection, waiting for each response before the next request. */
export async function askOneAtATime(options: OneAtATimeOptions, isInBackground = false): Promise<TimedResponse[]> {
  return (await runClient('one-connection-process.ts', options, isInBackground)) as TimedResponse[];
}

/** Reads a list from the first page on, one page at a time. */
export async function readAllPages(options: AllPagesOptions): Promise<ReadOutcome> {
  return (await runClient('one-connection-process.ts', options)) as ReadOutcome;
}

/** Reads a stream to its end, as fast as it comes. */
export async function readStream(options: StreamOptions, isInBackground = false): Promise<StreamOutcome> {
  return (await runClient('stream-process.ts', options, isInBackground)) as StreamOutcome;
}

/** The lowest share of a core. */
const BACKGROUND_PRIORITY = 19;

/**
 * Runs a program of this folder, which reads its options as JSON from standard input and prints JSON. In the background it
 * gives way to other clients on the same core, so that only the server is shared with them.
 */
async function runClient(program: string, options: object, isInBackground = false): Promise<unknown> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const output = await runProgram(process.execPath, [path], {
    core: OTHER_CORE,
    input: JSON.stringify(options),
    onStart: (pid) => {
      if (isInBackground) setPriority(pid, BACKGROUND_PRIORITY);
    },
  });
  return JSON.parse(output);
}
