import { fileURLToPath } from 'node:url';
import { readOutput } from './output.ts';

const PROGRAM = fileURLToPath(new URL('walk-process.ts', import.meta.url));

export interface WalkOptions {
  port: number;
  headers: Readonly<Record<string, string>>;
  /** Path and query of the first page. */
  path: string;
}

export interface WalkOutcome {
  records: number;
  seconds: number;
}

/** Reads a list of solicitations from the first page to the last, one page at a time. */
export async function walkList(options: WalkOptions): Promise<WalkOutcome> {
  return JSON.parse(await readOutput(process.execPath, [PROGRAM], {}, JSON.stringify(options))) as WalkOutcome;
}
