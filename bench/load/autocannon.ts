import { fileURLToPath } from 'node:url';
import type { LoadOptions, LoadResult } from './load.ts';
import { readOutput } from './output.ts';

const PROGRAM = fileURLToPath(new URL('../../tools/bench/autocannon-process.ts', import.meta.url));

/** Runs the load with autocannon, in a separate process. */
export async function runAutocannon(options: LoadOptions): Promise<LoadResult> {
  return JSON.parse(await readOutput(process.execPath, [PROGRAM], {}, JSON.stringify(options))) as LoadResult;
}
