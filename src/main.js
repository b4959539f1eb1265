#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// Stripping types and compiling takes over a quarter of startup; the cache saves the result for the next start.
// The cache is inside the project: in the system's temporary folder, anyone could plant code in it.
// This file is JavaScript because a single uncached TypeScript file makes Node load its type stripper (14 MB).
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/pds', import.meta.url)));

// By default V8 lets the heap grow to several times its live data before collecting. With 20 %, an import peaks at
// 760 MB instead of 1,080 MB and takes as long. Set before any thread starts, because threads inherit it.
setFlagsFromString('--heap-growing-percent=20');

// By default SIGUSR1 opens Node's inspector, through which any local program could read keys from memory.
// Our own command lines pass --disable-sigusr1, which also covers startup; this handler covers all others.
process.on('SIGUSR1', () => undefined);

// Node's diagnostic reports would otherwise include the environment, which contains database passwords.
if (process.report) process.report.excludeEnv = true;

const { runProgram } = await import('./commands/program.ts');
await runProgram();
