import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { canPin, type Core } from './cores.ts';

/** A child process, stopped at the latest when the benchmark ends. */
export interface StartedProcess {
  readonly pid: number;
  /** Resolves with the exit code; -1 if a signal killed the process. */
  readonly exited: Promise<number>;
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
  const child = spawnPinned(program, args, {
    ...options,
    stdio: ['ignore', output, output],
  });
  if (log !== null) closeSync(log);
  return register(child, options.stopSignal ?? 'SIGTERM');
}

/** Spawns through `taskset` if a core is given and pinning is possible. The pid is the program's own. */
export function spawnPinned(
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
  const exited = once(child, 'exit').then(([code]) => (code as number | null) ?? -1);
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const started: StartedProcess = {
    pid: child.pid,
    exited,
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
