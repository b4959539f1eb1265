import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The HTTP server under test has a core to itself; the load and the database share the other. */
export const SERVER_CORE = 0;
export const OTHER_CORE = 1;
export type Core = typeof SERVER_CORE | typeof OTHER_CORE;

let known: boolean | undefined;

/** Whether processes can be tied to a core here. */
export function canPin(): boolean {
  known ??= availableParallelism() >= 2 && isInstalled('taskset');
  return known;
}

/** Whether a program is on the path. */
export function isInstalled(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
