import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/*
 * Preloaded into a program: kills it just before its KILL_AT-th operation on file names, or sync, counted from 0. This reaches
 * every point between two such operations, which random kills seldom do.
 */

const WATCHED = ['linkSync', 'renameSync', 'rmSync', 'copyFileSync', 'fsyncSync'] as const;

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
