import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Workspace } from '../support/cluster/workspace.ts';

/** The settings of a unit, by name. */
type Unit = ReadonlyMap<string, readonly string[]>;

/**
 * A substitute for systemd, which tests cannot start: it executes `systemctl` requests according to the unit's command,
 * environment, folder and signal. It does not create the unit's sandbox.
 */
export class ServiceManager {
  readonly #workspace: Workspace;
  readonly #units: string;
  readonly #running = new Map<string, ChildProcess>();
  readonly #server: Server;
  /** Services that had to be killed, since they did not stop when requested. */
  readonly killed: string[] = [];

  constructor(workspace: Workspace, units: string) {
    this.#workspace = workspace;
    this.#units = units;
    this.#server = createServer((request, response) => {
      void text(request)
        .then((words) => this.#systemctl(words.split(' ')))
        .then(
          () => response.end(),
          (error: unknown) => response.writeHead(500).end(String(error)),
        );
    });
  }

  /** @returns the URL that accepts the arguments of `systemctl` as the body of a POST. */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** The current process of a service. */
  pidOf(service: string): number | undefined {
    return this.#running.get(service)?.pid;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((service) => this.#stop(service)));
    this.#server.close();
  }

  async #systemctl([verb, ...words]: readonly string[]): Promise<void> {
    // It is always time for a timer.
    const services = words.filter((word) => !word.startsWith('--')).map((word) => word.replace(/\.timer$/, ''));
    for (const service of services) {
      if (verb === 'disable' || verb === 'stop' || verb === 'restart') await this.#stop(service);
      if (verb === 'enable' || verb === 'start' || verb === 'restart') this.#start(service);
    }
  }

  #start(service: string): void {
    const unit = this.#read(service);
    const [folder = ''] = unit.get('WorkingDirectory') ?? [];
    mkdirSync(folder, { recursive: true });
    const [program = '', ...args] = unit.get('ExecStart')?.[0]?.split(' ') ?? [];
    const env = Object.assign({}, ...(unit.get('EnvironmentFile') ?? []).map(readEnvironment)) as Record<
      string,
      string
    >;
    const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
    if (child.pid === undefined) throw new Error(`${service} cannot be started: ${program}`);
    this.#workspace.guard(child.pid, 'SIGKILL', once(child, 'exit'));
    this.#running.set(service, child);
  }

  async #stop(service: string): Promise<void> {
    const child = this.#running.get(service);
    if (child === undefined) return;
    this.#running.delete(service);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const unit = this.#read(service);
    const exited = once(child, 'exit');
    child.kill(unit.get('KillSignal')?.[0] as NodeJS.Signals);
    const timer = setTimeout(
      () => {
        this.killed.push(service);
        child.kill('SIGKILL');
      },
      1_000 * Number(unit.get('TimeoutStopSec')?.[0]),
    );
    await exited;
    clearTimeout(timer);
  }

  #read(service: string): Unit {
    const [name = '', instance] = service.split('@');
    const file = join(this.#units, instance === undefined ? `${name}.service` : `${name}@.service`);
    const unit = new Map<string, string[]>();
    for (const line of readFileSync(file, 'utf8')
      .replaceAll('%i', instance ?? '')
      .split('\n')) {
      const [, setting = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? [];
      if (setting !== '') unit.set(setting, [...(unit.get(setting) ?? []), value]);
    }
    return unit;
  }
}

/** Reads lines `NAME=value` or `NAME="value"`; a file whose name begins with `-` is optional. */
function readEnvironment(file: string): Record<string, string> {
  const path = file.replace(/^-/, '');
  if (file.startsWith('-') && !existsSync(path)) return {};
  const lines = readFileSync(path, 'utf8').matchAll(/^(?<name>\w+)="?(?<value>.*?)"?$/gm);
  return Object.fromEntries([...lines].map(({ groups }) => [groups?.['name'] ?? '', groups?.['value'] ?? '']));
}
