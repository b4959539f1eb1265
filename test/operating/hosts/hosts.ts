import { spawn, execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { runProgram, type Outcome } from '../../commands/run-pds.ts';
import { Workspace } from '../../support/cluster/workspace.ts';
import { ROOT } from '../../docs/documents.ts';
import { PROGRAM } from '../machine.ts';

const run = promisify(execFile);

const SETUP = fileURLToPath(new URL('setup.sh', import.meta.url));
const SYSTEMCTL = fileURLToPath(new URL('systemctl', import.meta.url));

const NAMESPACES = ['--mount', '--net', '--pid', '--ipc', '--uts'];

/** Debian's, of a login. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Why this machine can have no such hosts, or null. */
export async function findObstacle(): Promise<string | null> {
  const command = 'mount -t tmpfs tmpfs /mnt && ip link add type veth && ip link add type bridge';
  try {
    await run('unshare', [...NAMESPACES, '--fork', 'sh', '-c', command]);
    return null;
  } catch (error) {
    return `network namespaces: ${(error as { stderr?: string }).stderr ?? String(error)}`;
  }
}

/**
 * A machine of the operators' guide: a group of processes with an address, host name, users, folders and units of its own, in
 * Linux namespaces, which end with its first process. Debian's packages are this machine's.
 */
export class Host {
  readonly name: string;
  /** The folder to which it writes. */
  readonly folder: string;
  readonly #exited: Promise<unknown>;
  /** Its first process, by the id outside of it. */
  readonly #pid: number;
  #isLost = false;

  private constructor(name: string, folder: string, exited: Promise<unknown>, pid: number) {
    this.name = name;
    this.folder = folder;
    this.#exited = exited;
    this.#pid = pid;
  }

  /** @param programs scripts that it has in place of programs, by name. */
  static async start(workspace: Workspace, name: string, programs: Readonly<Record<string, string>>): Promise<Host> {
    const folder = workspace.path(name);
    const bin = join(folder, 'usr/local/sbin');
    mkdirSync(bin, { recursive: true });
    copyFileSync(SYSTEMCTL, join(bin, 'systemctl'));
    for (const [program, script] of Object.entries(programs))
      writeFileSync(join(bin, program), `#!/bin/sh\nset -eu\n${script}\n`, { mode: 0o755 });
    const words = [...NAMESPACES, '--fork', '--kill-child', '--mount-proc', SETUP, name, folder];
    const child = spawn('unshare', words, { env: { PATH }, stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    if (child.pid === undefined) throw new Error('unshare cannot be started');
    workspace.guard(child.pid, 'SIGKILL', exited);
    for await (const bytes of child.stdout) if (String(bytes).includes('ready')) break;
    const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim());
    if (pid === 0) throw new Error(`${name} cannot be started`);
    return new Host(name, folder, exited, pid);
  }

  /** Runs commands as root, in the root's folder, and asserts that they succeed; returns their standard output. */
  async shell(commands: string): Promise<string> {
    const { code, stdout, stderr } = await this.attempt(commands);
    expect(code, `${this.name}: ${commands}\n${stdout}\n${stderr}`).toBe(0);
    return stdout;
  }

  attempt(commands: string): Promise<Outcome> {
    const words = ['--target', String(this.#pid), ...NAMESPACES, 'bash', '-euo', 'pipefail', '-c', `cd ~\n${commands}`];
    return runProgram(['nsenter', ...words], { PATH, HOME: '/root', LANG: 'C.UTF-8' });
  }

  /** Runs `ip` in its network, and nowhere else. */
  async ip(words: string): Promise<void> {
    await run('nsenter', ['--target', String(this.#pid), '--net', 'ip', ...words.split(' ')]);
  }

  /** Connects it to another, which has a bridge `hosts`, and gives it an address. */
  async connectTo(hub: Host, address: string): Promise<void> {
    const port = `to-${this.name}`;
    await hub.ip(`link add ${port} type veth peer name eth0 netns ${this.#pid}`);
    await hub.ip(`link set ${port} master hosts up`);
    await this.ip('link set lo up');
    await this.ip(`address add ${address}/24 dev eth0`);
    await this.ip('link set eth0 up');
  }

  /** The ends of its units' logs. */
  logs(): string {
    const folder = join(this.folder, 'var/log/units');
    if (!existsSync(folder)) return '';
    const last = (unit: string): string => readFileSync(join(folder, unit), 'utf8').split('\n').slice(-30).join('\n');
    return readdirSync(folder)
      .map((unit) => `== ${this.name} ${unit}\n${last(unit)}`)
      .join('\n');
  }

  /** Ends all of its processes at once, as if its power failed. */
  async lose(): Promise<void> {
    if (this.#isLost) return;
    this.#isLost = true;
    process.kill(this.#pid, 'SIGKILL');
    await this.#exited;
  }
}

/** The guide's three hosts, and the machine in front of them, which connects them. The caller must close it. */
export class Hosts {
  readonly workspace = new Workspace();
  readonly all: Host[] = [];
  #front: Host | undefined;

  static async start(): Promise<Hosts> {
    const hosts = new Hosts();
    const { workspace } = hosts;
    for (const name of PROGRAM) cpSync(join(ROOT, name), workspace.path('source', name), { recursive: true });
    const programs = {
      sudo: 'exec "$@"',
      // Whether Debian has these packages; they are installed.
      'apt-get': 'if [ "$1" = install ]; then exec /usr/bin/apt-get --simulate "$@"; fi',
      git: `for folder; do :; done; mkdir -p "$folder"; cp -r /mnt/source/. "$folder"`,
      npm: `test "$1 $2" = "ci --prefix"; mkdir "$3/node_modules"; mount --bind ${ROOT}/node_modules "$3/node_modules"`,
      // scp -r FOLDER 10.0.0.1N:NAME
      scp: `test "$1" = -r; cp -r "$2" "/mnt/pds-$(echo "$3" | sed 's/10.0.0.1//; s|:|/root/|')"`,
    };
    const front = (hosts.#front = await Host.start(workspace, 'front', {}));
    await front.ip('link set lo up');
    await front.ip('link add hosts type bridge');
    await front.ip('address add 10.0.0.10/24 dev hosts');
    await front.ip('link set hosts up');
    for (const n of [1, 2, 3]) {
      const host = await Host.start(workspace, `pds-${n}`, programs);
      await host.connectTo(front, `10.0.0.1${n}`);
      hosts.all.push(host);
    }
    return hosts;
  }

  /** The machine at 10.0.0.10. */
  get front(): Host {
    return this.#front ?? expect.fail('not started');
  }

  async close(): Promise<void> {
    await Promise.all([...this.all, this.front].map((host) => host.lose()));
    await this.workspace.close();
  }
}
