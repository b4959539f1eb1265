import { fileURLToPath } from 'node:url';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { spawnPinned } from '../machine/processes.ts';
import { peakMegabytes } from '../machine/usage.ts';

export const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));

const PEAK_INTERVAL_MS = 50;

/** The result of a `pds` command. */
export interface CommandOutcome {
  stdout: string;
  seconds: number;
  peakMegabytes: number;
}

/**
 * Runs a `pds` command until it exits. Not pinned to a core, because an import uses two.
 *
 * @throws Error with its standard error if it fails.
 */
export async function runPds(databaseUrl: string, args: readonly string[]) {
  const startedAt = performance.now();
  const child = spawnPinned(process.execPath, [MAIN, ...args], {
    core: null,
    env: { PDS_DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.stdout === null || child.stderr === null || child.pid === undefined) throw new Error('pds did not start');
  const stop = (): unknown => child.kill();
  process.once('exit', stop);
  const closed = once(child, 'close') as Promise<[number | null]>;
  const peak = watchPeak(child.pid, closed);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  process.off('exit', stop);
  if (code !== 0) throw new Error(`pds ${args.join(' ')} failed:\n${stderr}`);
  const seconds = (performance.now() - startedAt) / 1000;
  return { stdout, seconds, peakMegabytes: await peak } satisfies CommandOutcome;
}

/** Polls the peak memory: the kernel tracks it, but only while the process exists. */
async function watchPeak(pid: number, closed: Promise<unknown>): Promise<number> {
  let peak = 0;
  const end = closed.then(() => true);
  do {
    peak = Math.max(peak, peakMegabytes(pid) ?? 0);
  } while (!(await Promise.race([end, delay(PEAK_INTERVAL_MS, false)])));
  return peak;
}
