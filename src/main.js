#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// Stripping types and compiling takes over a quarter of a start; what it gives is kept for the next one.
// Below the project and not in the system's temporary folder, where anyone could put code in its place.
// This file is JavaScript, since one file to strip is enough for Node to load what strips: 14 MB.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/pds', import.meta.url)));

// By default the heap may grow to several times what lives in it before it is swept: an import took 1,080 MB, and takes
// 760 MB in the same time. Before any thread starts, which inherits it.
setFlagsFromString('--heap-growing-percent=20');

// By default SIGUSR1 opens Node's inspector, through which any program of the machine could read keys from memory.
// Where the command line is ours, --disable-sigusr1 does this from the first moment; this is for all other starts.
process.on('SIGUSR1', () => undefined);

// A report that Node writes when it fails would hold the environment, and in it the passwords of databases.
if (process.report) process.report.excludeEnv = true;

const { runProgram } = await import('./commands/program.ts');
await runProgram();
