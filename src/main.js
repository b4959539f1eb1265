#!/usr/bin/env node
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// Older versions cannot run TypeScript, and end with a syntax error.
if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    `error: pds needs Node 24 or newer, and this is ${process.version}. Install it, or run "npm ci" without --omit=dev, which installs one for "npx pds" and "npm start"\n`,
  );
  process.exit(1);
}

// Stripping types and compiling takes over a quarter of startup; the cache saves the result for the next start.
// The cache is inside the project: in the system's temporary folder, anyone could plant code in it.
// This file is JavaScript because a single uncached TypeScript file makes Node load its type stripper (14 MB).
module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/pds', import.meta.url)));

// By default V8 lets the heap grow to several times its live data before collecting. With 20 %, an import peaks at
// 760 MB instead of 1,080 MB and takes as long. A server holds little: a stream would spend a third of its CPU time on
// collections. Set before any thread starts, because threads inherit it.
if (!process.argv.includes('serve')) setFlagsFromString('--heap-growing-percent=20');

// By default SIGUSR1 opens Node's inspector, through which any local program could read keys from memory.
// Our own command lines pass --disable-sigusr1, which also covers startup; this handler covers all others.
process.on('SIGUSR1', () => undefined);

// Node's diagnostic reports would otherwise include the environment, which contains database passwords.
if (process.report) process.report.excludeEnv = true;

const { runProgram } = await import('./commands/program.ts');
await runProgram();
