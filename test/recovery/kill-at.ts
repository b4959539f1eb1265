import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/*
 * Loaded before a program: kills it just before the operation on the names of files whose number stands in
 * KILL_AT. So each moment between two of them is met, which kills at random seldom do.
 */

const WATCHED = ['linkSync', 'renameSync', 'rmSync', 'copyFileSync'] as const;

let left = Number(process.env['KILL_AT']);
for (const name of WATCHED) {
  const original = fs[name] as (...values: unknown[]) => unknown;
  Object.assign(fs, {
    [name]: (...values: unknown[]): unknown => {
      if (left === 0) process.kill(process.pid, 'SIGKILL');
      left -= 1;
      return original(...values);
    },
  });
}
syncBuiltinESMExports();
