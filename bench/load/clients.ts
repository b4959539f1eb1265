import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { AllPages } from '../candidates/candidate.ts';
import { OTHER_CORE } from '../machine/cores.ts';
import { runProgram, type RunOptions } from '../machine/processes.ts';
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
  /** The file to save the response in; null to discard it. */
  readonly file: string | null;
}

export interface LinesOptions {
  readonly file: string;
  readonly isZstd: boolean;
  /** A new SQLite file into which the lines are inserted; null to only count them. */
  readonly database: string | null;
}

/** Sends each request once over one connection, waiting for each response before the next request. */
export async function askOneAtATime(options: OneAtATimeOptions, isInBackground = false): Promise<TimedResponse[]> {
  return (await runClient('one-connection-process.ts', options, isInBackground)) as TimedResponse[];
}

/** Reads a list from the first page on, one page at a time. */
export async function readAllPages(options: AllPagesOptions): Promise<ReadOutcome> {
  return (await runClient('one-connection-process.ts', options)) as ReadOutcome;
}

/** Reads a stream to its end with curl, which takes less CPU time than the servers. Returns the time and the size. */
export async function readStream(
  { port, headers, path, file }: StreamOptions,
  isInBackground = false,
): Promise<{ seconds: number; bytes: number }> {
  const args = ['--silent', '--show-error', '--fail', '--config', '-', '--write-out', '%{time_total} %{size_download}'];
  const input = Object.entries(headers).map(([name, value]) => `header = "${name}: ${value}"`);
  const all = [...args, '--output', file ?? '/dev/null', `http://127.0.0.1:${port}${path}`];
  const output = await runProgram('curl', all, { ...clientSettings(isInBackground), input: input.join('\n') });
  const [seconds = NaN, bytes = NaN] = output.split(' ').map(Number);
  return { seconds, bytes };
}

/** Counts the lines of a saved stream, and inserts them if that is asked for. The time is that of the inserts. */
export async function readLines(options: LinesOptions): Promise<ReadOutcome> {
  return (await runClient('lines-process.ts', options)) as ReadOutcome;
}

/** The lowest share of a core. */
const BACKGROUND_PRIORITY = 19;

/** In the background a client gives way to others on the same core, so that only the server is shared with them. */
function clientSettings(isInBackground: boolean): RunOptions {
  return {
    core: OTHER_CORE,
    onStart: (pid) => {
      if (isInBackground) setPriority(pid, BACKGROUND_PRIORITY);
    },
  };
}

/** Runs a program of this folder, which reads its options as JSON from standard input and prints JSON. */
async function runClient(program: string, options: object, isInBackground = false): Promise<unknown> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const input = JSON.stringify(options);
  return JSON.parse(await runProgram(process.execPath, [path], { ...clientSettings(isInBackground), input }));
}
