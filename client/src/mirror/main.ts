#!/usr/bin/env node
import module from 'node:module';

// Compiling would be a third of a run without news. Node 20 has no such cache.
(module as Partial<typeof module>).enableCompileCache?.();
const { Ending, runCommand } = await import('./command.ts');

const ending = new Ending();
const end = (): void => ending.begin();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
const { argv, env, stdout, stderr } = process;
process.exitCode = await runCommand(argv.slice(2), env, { stdout, stderr, ending, clock: Date.now });
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, end);
