import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/*
 * Preloaded into a program: prints `sync` before each sync of a file or folder, which then takes as many milliseconds as
 * SYNC_MS lists for it, as on a slow disk.
 */

const durationsMs = (process.env['SYNC_MS'] ?? '').split(',').map(Number);
const original = fs.fsyncSync;
fs.fsyncSync = (descriptor) => {
  fs.writeSync(process.stdout.fd, 'sync\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationsMs.shift() ?? 0);
  original(descriptor);
};
syncBuiltinESMExports();
