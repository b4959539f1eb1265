import { readFileSync } from 'node:fs';
import { ApiError } from '../errors.ts';
import { runMirror } from './mirror.ts';
import { changeLine } from './on-change.ts';
import { readOptions, USAGE, UsageError, type MirrorOptions } from './options.ts';
import { printable, printableJson } from './printable.ts';
import { changesText, progressText, reportJson, reportText, timeText } from './report.ts';

/** After a stop signal, the request in flight has this long to complete. */
const GRACE_MS = 5_000;

/** The service refuses an address that sends more than 60 requests a minute with keys that it does not accept. */
const REFUSED_PAUSE_MS = 60_000;

/** Stops a mirror: first gracefully, and aborts the request in flight if that takes too long or is begun twice. */
export class Ending {
  readonly #stop = new AbortController();
  readonly #abort = new AbortController();

  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  get abort(): AbortSignal {
    return this.#abort.signal;
  }

  begin(): void {
    if (this.stop.aborted) this.#abort.abort();
    this.#stop.abort();
    setTimeout(() => this.#abort.abort(), GRACE_MS).unref();
  }
}

/** The output of the command, its clock, and the signal that ends it. */
export interface CommandContext {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly ending: Ending;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** The shortest time between requests with a key that the service refuses. Default: a minute. */
  readonly refusedPauseMs?: number;
}

/** Runs the command line of the mirror. Returns the exit code. */
export async function runCommand(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  context: CommandContext,
): Promise<number> {
  let options: ReturnType<typeof readOptions>;
  try {
    options = readOptions(words, environment);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    context.stderr.write(`partner-data-mirror: ${printable(error.message)} (see --help)\n`);
    return 2;
  }
  if (options === 'help' || options === 'version') {
    context.stdout.write(options === 'help' ? USAGE : `${version()}\n`);
    return 0;
  }
  return mirror(options, context);
}

async function mirror(
  options: MirrorOptions,
  { stdout, stderr, ending, clock, refusedPauseMs = REFUSED_PAUSE_MS }: CommandContext,
): Promise<number> {
  const { isJson, watchMs } = options;
  let outputError: Error | undefined;
  // The reader closed the pipe (`| head -1`), or the disk is full.
  stdout.on('error', (error) => {
    outputError ??= error;
    ending.begin();
  });
  const onProgress = (received: number | null): void => {
    if (stderr.isTTY === true) stderr.write(progressText(received));
  };
  const notify = (message: string): void => {
    onProgress(null);
    // An operator reads the lines of a watching mirror days later.
    const time = watchMs === null ? '' : `${timeText(new Date())} `;
    stderr.write(`${time}partner-data-mirror: ${printable(message)}\n`);
  };
  const reportFailure = (error: unknown): void => {
    if (isJson && outputError === undefined) stdout.write(failureJson(error));
  };
  let isFirstReport = true;
  for (const option of options.ignored)
    notify(`${option} has no effect any more: every sync finds removed records and changed details`);
  try {
    await runMirror(options, {
      ...{ stop: ending.stop, abort: ending.abort, clock, refusedPauseMs, onProgress, notify },
      onReport: (report, changes) => {
        if (isJson) for (const change of changes) stdout.write(changeLine(change, clock()));
        if (isJson) stdout.write(reportJson(report, new Date()));
        else if (watchMs === null) stdout.write(reportText(report));
        else if (isFirstReport || report.isChanged) stdout.write(changesText(report, new Date()));
        isFirstReport = false;
      },
      onPause: (error, pauseMs) => notify(`${messageOf(error)}; ${retryingIn(pauseMs)}`),
      onFailure: (error, retryInMs, isKnown) => {
        if (!isKnown) notify(`${messageOf(error)}; ${retryingIn(retryInMs)}`);
        reportFailure(error);
      },
    });
    if (outputError === undefined) return 0;
    throw new Error(`the report could not be written to stdout: ${outputError.message}`);
  } catch (error) {
    notify(messageOf(error));
    reportFailure(error);
    return 1;
  }
}

function retryingIn(ms: number): string {
  // The difference of two monotonic times can be a fraction more than what was added.
  return `retrying in ${Math.ceil(Math.round(ms) / 1_000)} s`;
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
