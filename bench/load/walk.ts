import { fileURLToPath } from 'node:url';
import { readOutput } from './output.ts';

const PROGRAM = fileURLToPath(new URL('walk-process.ts', import.meta.url));

export interface WalkOptions {
  port: number;
  headers: Readonly<Record<string, string>>;
  /** Of the first page, with its parameters. */
  path: string;
}

export interface WalkOutcome {
  records: number;
  seconds: number;
}

/** Walks a list of solicitations from its first page to its last, one page after the other. */
export async function walkList(options: WalkOptions): Promise<WalkOutcome> {
  return JSON.parse(await readOutput(process.execPath, [PROGRAM], {}, JSON.stringify(options))) as WalkOutcome;
}
