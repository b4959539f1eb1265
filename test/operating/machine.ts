import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { Workspace } from '../support/cluster/workspace.ts';
import { findCommands, ROOT, translate } from '../docs/documents.ts';
import { findLastingPort } from '../support/free-port.ts';
import { ServiceManager } from './service-manager.ts';

/** The files copied to a host. */
export const PROGRAM = ['src', 'convert', 'sample', 'docs', 'ops', 'package.json'];

/** Ports in the guide, each replaced by another here. */
const PORTS = ['8080', '8081', '8082'];

/** Folders of a host, placed below a temporary one here. */
const FOLDERS = ['/opt/', '/etc/', '/var/lib/', '/usr/local/bin'];

/**
 * A host that runs blocks of the operators' guide verbatim: its folders are below a temporary one, and commands that would
 * change this machine or need a network are replaced by stubs.
 */
export class Machine {
  readonly workspace = new Workspace();
  readonly manager: ServiceManager;
  readonly #values: Record<string, string>;
  readonly #ran = new Set<string>();

  private constructor(values: Record<string, string>) {
    this.#values = values;
    for (const folder of FOLDERS) {
      this.#values[folder] = this.path(folder);
      mkdirSync(this.path(folder), { recursive: true });
    }
    mkdirSync(this.path('/etc/sysctl.d'));
    this.manager = new ServiceManager(this.workspace, this.path('/etc/systemd/system'));
  }

  static async start(): Promise<Machine> {
    const values: Record<string, string> = {};
    for (const port of PORTS) values[port] = String(await findLastingPort());
    const machine = new Machine(values);
    machine.#standIn(await machine.manager.listen());
    return machine;
  }

  path(path: string): string {
    return join(this.workspace.folder, 'host', path);
  }

  /** The port of this host for a port in the guide. */
  port(written: number): number {
    return Number(this.#values[String(written)]);
  }

  /**
   * Runs a block of commands of a document, and asserts that each of them succeeds; returns their standard output.
   *
   * @param before shell commands that run first, for example to set variables.
   */
  run(file: string, start: string, values: Readonly<Record<string, string>> = {}, before = ''): Promise<string> {
    const { commands } = findCommands(file, start);
    this.#ran.add(`${file}: ${commands.split('\n')[0] ?? ''}`);
    return this.shell(before + translate(commands, values));
  }

  /** Gives files created by root to the user that the programs run as. */
  async own(folder: string): Promise<void> {
    const { runAs } = this.workspace;
    if (runAs !== null) await this.shell(`chown -R ${runAs.uid}:${runAs.gid} ${folder}`);
  }

  /** The blocks that were run, as `blocksRunBy` lists them. */
  get ran(): string[] {
    return [...this.#ran].sort();
  }

  /** Runs commands with the folders and ports of this host. */
  async shell(commands: string): Promise<string> {
    const path = [this.path('bin'), this.path('/usr/local/bin'), process.env['PATH']].join(':');
    const child = spawn('bash', ['-e', '-u', '-o', 'pipefail', '-c', translate(commands, this.#values)], {
      env: { ...process.env, PATH: path },
      cwd: this.workspace.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exited = once(child, 'exit') as Promise<[number]>;
    // It can wait forever.
    if (child.pid !== undefined) this.workspace.guard(child.pid, 'SIGKILL', exited);
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
    expect(code, `${commands}\n${stdout}\n${stderr}`).toBe(0);
    return stdout;
  }

  async close(): Promise<void> {
    await this.manager.close();
    await this.workspace.close();
  }

  #standIn(systemctl: string): void {
    mkdirSync(this.path('/etc/systemd/system'), { recursive: true });
    const source = this.#prepareSource();
    const standIns = {
      sudo: 'exec "$@"',
      useradd: 'exit 0',
      sysctl: 'exit 0',
      chgrp: 'exit 0',
      setpriv: 'while [ "${1#--}" != "$1" ]; do shift; done; exec "$@"',
      git: `for folder; do :; done; cp -r ${source} "$folder"`,
      npm: `test "$1 $2" = "ci --prefix" && ln -s ${join(ROOT, 'node_modules')} "$3/node_modules"`,
      systemctl: `exec curl -fsS --data "$*" ${systemctl}`,
    };
    mkdirSync(this.path('bin'), { recursive: true });
    for (const [name, script] of Object.entries(standIns))
      writeFileSync(this.path(`bin/${name}`), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  /** Creates the contents of a clone, with this host's folders in the files of `ops/`. */
  #prepareSource(): string {
    const source = this.path('source');
    for (const name of PROGRAM) cpSync(join(ROOT, name), join(source, name), { recursive: true });
    for (const entry of readdirSync(join(source, 'ops'), { withFileTypes: true })) {
      // The files of the cluster are not of this host.
      if (entry.isDirectory()) continue;
      const file = join(source, 'ops', entry.name);
      writeFileSync(file, translate(readFileSync(file, 'utf8'), this.#values));
    }
    return source;
  }
}
