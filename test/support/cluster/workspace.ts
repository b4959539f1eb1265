import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findRunAs, reachableTemporaryFolder, type RunAs } from '../postgres/postgres-programs.ts';

const run = promisify(execFile);
/** Servers are in /usr/sbin, which is on root's PATH only. */
const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` };
const GUARD = fileURLToPath(new URL('workspace-guard.ts', import.meta.url));

/** A temporary folder, and programs that run in it as an unprivileged user. The caller must close it. */
export class Workspace {
  readonly folder: string;
  /** The user the programs run as; null for the current one. */
  readonly runAs: RunAs | null;
  readonly #guard: ChildProcess;

  constructor() {
    this.runAs = findRunAs();
    this.folder = mkdtempSync(join(reachableTemporaryFolder(), 'pds-cluster-'));
    chmodSync(this.folder, 0o755);
    this.#guard = spawn(process.execPath, [GUARD, this.folder], {
      stdio: ['pipe', 'ignore', 'inherit'],
      // Survives Ctrl-C, so that it can clean up after the tests.
      detached: true,
    });
    this.#guard.stdin?.on('error', () => undefined);
  }

  /** A path in the folder. */
  path(...names: string[]): string {
    return join(this.folder, ...names);
  }

  /** Writes a file that only the programs' user can read. */
  write(name: string, text: string): string {
    const path = this.path(name);
    writeFileSync(path, text, { mode: 0o600 });
    this.#own(path);
    return path;
  }

  /** Creates a folder owned by the programs' user. */
  makeFolder(name: string): string {
    const path = this.path(name);
    mkdirSync(path, { recursive: true });
    this.#own(path);
    return path;
  }

  /** Starts a program that writes to `<name>.log`; it is stopped at the latest when this process ends. */
  spawn(name: string, program: string, args: readonly string[], stopSignal: NodeJS.Signals): ChildProcess {
    const log = openSync(this.path(`${name}.log`), 'a');
    const child = spawn(program, args, {
      cwd: this.folder,
      env,
      stdio: ['ignore', log, log],
      detached: true,
      ...this.runAs,
    });
    closeSync(log);
    child.on('error', () => undefined);
    if (child.pid === undefined) throw new Error(`${program} could not be started: is it installed?`);
    this.guard(child.pid, stopSignal, once(child, 'exit'));
    return child;
  }

  /** Ensures that a process does not outlive this one; `exited` resolves if it ends by itself. */
  guard(pid: number, stopSignal: NodeJS.Signals, exited: Promise<unknown>): void {
    this.#guard.stdin?.write(`+${pid} ${stopSignal}\n`);
    void exited.then(() => this.#guard.stdin?.write(`-${pid}\n`));
  }

  /** Runs a program to completion; returns its standard output. */
  async run(program: string, ...args: string[]): Promise<string> {
    const { stdout } = await run(program, args, { cwd: this.folder, env, ...this.runAs });
    return stdout;
  }

  /** The output of a program so far. */
  logOf(name: string): string {
    return readFileSync(this.path(`${name}.log`), 'utf8');
  }

  /** Stops everything still running, and removes the folder. */
  async close(): Promise<void> {
    if (this.#guard.exitCode !== null) return;
    const exited = once(this.#guard, 'exit');
    this.#guard.stdin?.end();
    await exited;
  }

  #own(path: string): void {
    if (this.runAs !== null) chownSync(path, this.runAs.uid, this.runAs.gid);
  }
}
