import { execFile, spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { ROOT } from '../../docs/documents.ts';
import type { Workspace } from '../../support/cluster/workspace.ts';

const run = promisify(execFile);

/**
 * Buildah with its images and containers in a workspace. Containers have only their own files and users: neither an overlay,
 * nor a network of their own, nor control groups, which the tests' machine may not allow.
 */
export class Buildah {
  readonly workspace: Workspace;

  constructor(workspace: Workspace) {
    this.workspace = workspace;
  }

  /** Runs a command to completion; returns its standard output. */
  async run(...args: readonly string[]): Promise<string> {
    const { stdout } = await run('buildah', this.#complete(args), { cwd: ROOT, env: this.#environment() });
    return stdout.trim();
  }

  /** Starts a command, which is stopped at the latest when this process ends. */
  start(...args: readonly string[]): ChildProcessByStdio<null, Readable, null> {
    const child = spawn('buildah', this.#complete(args), {
      env: this.#environment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (child.pid === undefined) throw new Error('buildah could not be started');
    this.workspace.guard(child.pid, 'SIGTERM', once(child, 'exit'));
    return child;
  }

  #complete(args: readonly string[]): string[] {
    const folders = ['--root', this.workspace.path('storage'), '--runroot', this.workspace.path('state')];
    return [...folders, '--storage-driver', 'vfs', ...args];
  }

  #environment(): NodeJS.ProcessEnv {
    const { PATH, HOME } = process.env;
    return { PATH, HOME, TMPDIR: this.workspace.folder, BUILDAH_ISOLATION: 'chroot' };
  }
}
