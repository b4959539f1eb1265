import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../machine/processes.ts';
import { peakMegabytes } from '../machine/usage.ts';

export const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));

const PEAK_INTERVAL_MS = 50;

/**
 * Runs a `pds` command until it exits. Not pinned to a core, because an import uses two.
 *
 * @param main the program of another version.
 * @throws Error with its standard error if it fails.
 */
export async function runPds(databaseUrl: string, args: readonly string[], main = MAIN) {
  const startedAt = performance.now();
  let peak = 0;
  const stdout = await runProgram(process.execPath, [main, ...args], {
    core: null,
    env: { PDS_DATABASE_URL: databaseUrl },
    // The kernel tracks the peak of its memory, but only while the process exists.
    onStart: (pid, ended) => {
      const isOver = ended.then(() => true);
      void (async () => {
        do peak = Math.max(peak, peakMegabytes(pid));
        while (!(await Promise.race([isOver, delay(PEAK_INTERVAL_MS, false)])));
      })();
    },
  });
  return { stdout, seconds: (performance.now() - startedAt) / 1_000, peakMegabytes: peak };
}
