import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { canPin, type Core } from './cores.ts';

/** A child process, stopped at the latest when the benchmark ends. */
export interface StartedProcess {
  readonly pid: number;
  isRunning(): boolean;
  stop(): Promise<void>;
}

export interface ProcessOptions {
  core: Core | null;
  env?: Record<string, string>;
  cwd?: string;
  runAs?: { uid: number; gid: number } | null;
  /** File for standard output and error; default: discarded. */
  log?: string;
  /** The signal sent to stop it. Default: SIGTERM. */
  stopSignal?: NodeJS.Signals;
}

const KILL_AFTER_MS = 15_000;
const running = new Set<StartedProcess>();

/** Starts a program, pinned to a core unless `core` is null. `stopAllProcesses` stops it at the latest. */
export function startProcess(program: string, args: readonly string[], options: ProcessOptions): StartedProcess {
  const log = options.log === undefined ? null : openSync(options.log, 'w');
  const output = log ?? 'ignore';
  const child = spawnPinned(program, args, { ...options, stdio: ['ignore', output, output] });
  if (log !== null) closeSync(log);
  return register(child, options.stopSignal ?? 'SIGTERM');
}

export interface RunOptions extends Pick<ProcessOptions, 'core' | 'env' | 'cwd'> {
  /** Written to its standard input. */
  input?: string;
  onStart?: (pid: number, ended: Promise<unknown>) => void;
}

/**
 * Runs a program to its end and returns its standard output.
 *
 * @throws Error with its standard error if it fails.
 */
export async function runProgram(program: string, args: readonly string[], options: RunOptions): Promise<string> {
  const child = spawnPinned(program, args, { ...options, stdio: ['pipe', 'pipe', 'pipe'] });
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error(`${program} has no output`);
  register(child, 'SIGTERM');
  stdin.on('error', () => undefined).end(options.input ?? '');
  const closed = once(child, 'close') as Promise<[number | null]>;
  if (child.pid !== undefined) options.onStart?.(child.pid, closed);
  const [output, problems, [code]] = await Promise.all([text(stdout), text(stderr), closed]);
  if (code !== 0) throw new Error(`${[program, ...args].join(' ').slice(0, 120)} failed: ${problems || output}`);
  return output;
}

/** Spawns through `taskset` if a core is given and pinning is possible. The pid is the program's own. */
function spawnPinned(
  program: string,
  args: readonly string[],
  { core, env, cwd, runAs, stdio }: ProcessOptions & { stdio: SpawnOptions['stdio'] },
): ChildProcess {
  const isPinned = core !== null && canPin();
  const pinned = ['-c', String(core), program, ...args];
  return spawn(isPinned ? 'taskset' : program, isPinned ? pinned : args, {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio,
    ...(cwd !== undefined && { cwd }),
    ...runAs,
  });
}

function register(child: ChildProcess, stopSignal: NodeJS.Signals): StartedProcess {
  if (child.pid === undefined) throw new Error(`${child.spawnfile} could not be started`);
  const exited = once(child, 'exit');
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const started: StartedProcess = {
    pid: child.pid,
    isRunning,
    async stop() {
      if (isRunning()) child.kill(stopSignal);
      const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
      await exited;
      clearTimeout(timer);
      running.delete(started);
    },
  };
  running.add(started);
  void exited.then(() => running.delete(started));
  return started;
}

/** Stops all started processes, in reverse order. */
export async function stopAllProcesses(): Promise<void> {
  for (const started of [...running].reverse()) await started.stop();
}
