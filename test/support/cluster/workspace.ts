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
import { findRunAs, reachableTemporaryFolder, type RunAs } from '../postgres-programs.ts';

const run = promisify(execFile);
/** Servers stand where a user other than root does not look for them. */
const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` };
const GUARD = fileURLToPath(new URL('workspace-guard.ts', import.meta.url));

/** A temporary folder, and programs that work in it as an unprivileged user. Whoever opens it closes it. */
export class Workspace {
  readonly folder: string;
  /** Whom the programs run as; null for who we are. */
  readonly runAs: RunAs | null;
  readonly #guard: ChildProcess;

  constructor() {
    this.runAs = findRunAs();
    this.folder = mkdtempSync(join(reachableTemporaryFolder(), 'pds-cluster-'));
    chmodSync(this.folder, 0o755);
    this.#guard = spawn(process.execPath, [GUARD, this.folder], {
      stdio: ['pipe', 'ignore', 'inherit'],
      // Out of reach of a Ctrl-C, so that it can tidy up after the tests are gone.
      detached: true,
    });
    this.#guard.stdin?.on('error', () => undefined);
  }

  /** A path in the folder. */
  path(...names: string[]): string {
    return join(this.folder, ...names);
  }

  /** A file of the programs' user, that nobody else may read. */
  write(name: string, text: string): string {
    const path = this.path(name);
    writeFileSync(path, text, { mode: 0o600 });
    this.#own(path);
    return path;
  }

  /** A folder of the programs' user. */
  makeFolder(name: string): string {
    const path = this.path(name);
    mkdirSync(path, { recursive: true });
    this.#own(path);
    return path;
  }

  /** Starts a program whose output goes to `<name>.log`; it is ended at the latest when this process ends. */
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

  /** Makes sure that a process is ended with this one, until it `exited` by itself. */
  guard(pid: number, stopSignal: NodeJS.Signals, exited: Promise<unknown>): void {
    this.#guard.stdin?.write(`+${pid} ${stopSignal}\n`);
    void exited.then(() => this.#guard.stdin?.write(`-${pid}\n`));
  }

  /** Runs a program to its end; returns its standard output. */
  async run(program: string, ...args: string[]): Promise<string> {
    const { stdout } = await run(program, args, { cwd: this.folder, env, ...this.runAs });
    return stdout;
  }

  /** What a program has written so far. */
  logOf(name: string): string {
    return readFileSync(this.path(`${name}.log`), 'utf8');
  }

  /** Ends everything that still runs, and removes the folder. */
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
