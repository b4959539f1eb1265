import { isInstalled } from '../machine/cores.ts';
import { runAutocannon } from './autocannon.ts';
import type { LoadOptions, LoadResult } from './load.ts';
import { runWrk } from './wrk.ts';

/** Sends requests from a separate process for `seconds`, with wrk if it is installed, otherwise with autocannon. */
export function runLoad(options: LoadOptions): Promise<LoadResult> {
  return isInstalled('wrk') ? runWrk(options) : runAutocannon(options);
}
