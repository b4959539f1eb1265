import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The server under test has a core to itself; the load generator and the database share the other. */
export const SERVER_CORE = 0;
export const OTHER_CORE = 1;
export type Core = typeof SERVER_CORE | typeof OTHER_CORE;

/** Whether processes can be pinned to a core: at least 2 cores, and `taskset` is installed. */
export function canPin(): boolean {
  return availableParallelism() >= 2 && isInstalled('taskset');
}

/** Whether a program is on the PATH. */
export function isInstalled(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
