#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import module from 'node:module';
import { ApiError } from '../errors.ts';
import { changeLine } from './on-change.ts';
import { readOptions, USAGE, UsageError, type MirrorOptions } from './options.ts';
import { printable, printableJson } from './printable.ts';
import { progressText, reportJson, reportText } from './report.ts';

/** After a stop signal, the request in flight has this long to complete. */
const GRACE_MS = 5_000;

// Compiling would be a third of a run without news. Node 20 has no such cache.
(module as Partial<typeof module>).enableCompileCache?.();
const { runMirror } = await import('./mirror.ts');

process.exitCode = await main();

async function main(): Promise<number> {
  let options: ReturnType<typeof readOptions>;
  try {
    options = readOptions(process.argv.slice(2), process.env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`partner-data-mirror: ${printable(error.message)}\n\n${USAGE}`);
    return 2;
  }
  if (options === 'help' || options === 'version') {
    process.stdout.write(options === 'help' ? USAGE : `${version()}\n`);
    return 0;
  }
  return mirror(options);
}

async function mirror(options: MirrorOptions): Promise<number> {
  const [stop, abort] = [new AbortController(), new AbortController()];
  const end = (): void => {
    // A second signal aborts at once.
    if (stop.signal.aborted) abort.abort();
    stop.abort();
    setTimeout(() => abort.abort(), GRACE_MS).unref();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
  let outputError: Error | undefined;
  // The reader closed the pipe (`| head -1`), or the disk is full.
  process.stdout.on('error', (error) => {
    outputError ??= error;
    end();
  });
  const onProgress = (received: number | null): void => {
    if (process.stderr.isTTY) process.stderr.write(progressText(received));
  };
  const notify = (message: string): void => {
    onProgress(null);
    process.stderr.write(`partner-data-mirror: ${printable(message)}\n`);
  };
  const fail = (error: unknown, next: string): void => {
    notify(messageOf(error) + next);
    if (options.isJson && outputError === undefined) process.stdout.write(failureJson(error));
  };
  for (const option of options.ignored)
    notify(`${option} has no effect any more: every sync finds removed records and changed details`);
  try {
    await runMirror(options, {
      stop: stop.signal,
      abort: abort.signal,
      onProgress,
      notify,
      clock: Date.now,
      onReport: (report, changes) => {
        if (options.isJson) for (const change of changes) process.stdout.write(changeLine(change));
        process.stdout.write(options.isJson ? reportJson(report, new Date()) : reportText(report));
      },
      onFailure: (error, retryInMs) => fail(error, `; retrying in ${Math.ceil(retryInMs / 1_000)} s`),
    });
    if (outputError === undefined) return 0;
    throw new Error(`the report could not be written to stdout: ${outputError.message}`);
  } catch (error) {
    fail(error, '');
    return 1;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, end);
  }
}

function failureJson(error: unknown): string {
  const requestId = error instanceof ApiError ? error.requestId : null;
  const name = error instanceof Error ? error.name : 'Error';
  const json = JSON.stringify({ ok: false, error: { name, message: messageOf(error), request_id: requestId } });
  return `${printableJson(json)}\n`;
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const request = error instanceof ApiError && error.requestId !== null ? ` (request ${error.requestId})` : '';
  return error.message + request;
}

function version(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
