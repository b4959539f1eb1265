import { runClient } from './output.ts';

export interface StreamOptions {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  /** The file to write the lines to; null to only count them. */
  readonly file: string | null;
  /** A new SQLite file into which the lines of `file` are inserted then; null for none. */
  readonly insertInto: string | null;
}

export interface StreamOutcome {
  /** Lines received. */
  readonly lines: number;
  readonly seconds: number;
  /** How long the inserts took; 0 without. */
  readonly insertSeconds: number;
}

/** Reads a stream to its end, as fast as it comes. */
export async function readStream(options: StreamOptions, isInBackground = false): Promise<StreamOutcome> {
  return (await runClient('stream-process.ts', options, isInBackground)) as StreamOutcome;
}
