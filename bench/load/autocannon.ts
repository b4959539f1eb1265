import { fileURLToPath } from 'node:url';
import type { LoadOptions, LoadResult } from './load.ts';
import { readOutput } from './output.ts';

const PROGRAM = fileURLToPath(new URL('autocannon-process.ts', import.meta.url));

/** Asks with autocannon, in a process of its own. */
export async function runAutocannon(options: LoadOptions): Promise<LoadResult> {
  return JSON.parse(await readOutput(process.execPath, [PROGRAM], {}, JSON.stringify(options))) as LoadResult;
}
