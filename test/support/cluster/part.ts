import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Workspace } from './workspace.ts';

const START_TIMEOUT_MS = 20_000;

export interface PartOptions {
  readonly name: string;
  readonly program: string;
  /** Evaluated for each start. */
  readonly args: () => readonly string[];
  /** Shuts it down cleanly, without waiting for its clients. */
  readonly stopSignal: NodeJS.Signals;
  /** Whether it is ready now; a rejection means no. */
  readonly isReady: () => Promise<boolean>;
}

/** A program of the cluster that can be stopped and started. It keeps its port and its files. */
export class Part {
  readonly name: string;
  readonly #workspace: Workspace;
  readonly #options: PartOptions;
  #child: ChildProcess | null = null;

  constructor(workspace: Workspace, options: PartOptions) {
    this.name = options.name;
    this.#workspace = workspace;
    this.#options = options;
  }

  isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Starts it, and waits until it is ready. Retries, since a killed predecessor can briefly hold its port or files.
   *
   * @throws Error with its log if it is not ready within 20 s.
   */
  async start(): Promise<void> {
    const { name, program, args, stopSignal, isReady } = this.#options;
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (Date.now() < deadline) {
      if (!this.isRunning()) this.#child = this.#workspace.spawn(name, program, args(), stopSignal);
      if (await isReady().catch(() => false)) return;
      await delay(30);
    }
    throw new Error(`${name} did not start:\n${this.log()}`);
  }

  /** Stops it, and waits until it has exited. */
  async stop(signal = this.#options.stopSignal): Promise<void> {
    const child = this.#child;
    if (child === null || !this.isRunning()) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  async kill(): Promise<void> {
    await this.stop('SIGKILL');
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Suspends it without closing its connections, like a machine that hangs. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  log(): string {
    return this.#workspace.logOf(this.name);
  }
}

/** Starts a part, and gives it more properties. */
export async function startPart<More extends object>(workspace: Workspace, options: PartOptions, more: More) {
  const part = new Part(workspace, options);
  await part.start();
  return Object.assign(part, more);
}
