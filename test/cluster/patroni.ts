import { spawn, execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Workspace } from '../support/cluster/workspace.ts';

const run = promisify(execFile);
const TRY = fileURLToPath(new URL('../../ops/cluster/try.sh', import.meta.url));

/** A member as Patroni's REST API shows it. */
interface Member {
  readonly name: string;
  readonly role: 'leader' | 'sync_standby' | 'replica';
  readonly state: string;
  readonly timeline?: number;
}

export type PatroniCluster = Awaited<ReturnType<typeof startPatroni>>;

/** Starts the cluster of `ops/cluster` by `try.sh`, with the sample data. The caller must close it. */
export async function startPatroni() {
  const workspace = new Workspace();
  const folder = workspace.path('try');
  const network = `127.${randomInt(1, 250)}.${randomInt(1, 250)}`;
  const env = { ...process.env, TRY_FOLDER: folder, TRY_NETWORK: network };
  const child = spawn(TRY, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  if (child.pid === undefined) throw new Error(`${TRY} cannot be started`);
  const exited = once(child, 'exit');
  workspace.guard(child.pid, 'SIGTERM', exited);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (output += bytes.toString()));
  while (!output.includes('Ctrl-C')) {
    if (child.exitCode !== null) throw new Error(output);
    await delay(50);
  }
  const fileOf = (name: string): string => readFileSync(join(folder, name), 'utf8');
  /** The database through HAProxy: the primary's port. */
  const databaseUrl = /PDS_DATABASE_URL="(.*)"/.exec(fileOf('service-1.env'))?.[1] ?? '';
  /** Patroni's REST API on one host. */
  const patroniUrl = `http://${network}.11:8008`;
  /** Runs `try.sh` with these arguments: `signal`, `start` or `stop`, and a part. */
  const tell = async (...args: readonly string[]): Promise<void> => {
    await run(TRY, args, { env });
  };

  const members = async (): Promise<readonly Member[]> => {
    const responses = [1, 2, 3].map(async (host) => {
      const response = await fetch(`http://${network}.1${host}:8008/cluster`, { signal: AbortSignal.timeout(1_000) });
      return ((await response.json()) as { members: Member[] }).members;
    });
    return Promise.any(responses).catch(() => []);
  };
  const leader = async (): Promise<string> => {
    for (;;) {
      const found = (await members()).find(({ role, state }) => role === 'leader' && state === 'running');
      if (found !== undefined) return found.name;
      await delay(100);
    }
  };
  const cluster = {
    /** The address of nginx, and its certificate. */
    url: `https://${network}.10:8443`,
    certificate: fileOf('api.example.com.pem'),
    databaseUrl,
    superuserPassword: fileOf('pgpass').trim().split(':').at(-1) ?? '',
    patroniUrl,
    tell,
    /** Kills PostgreSQL of this member, as a crash would, and not its Patroni. */
    async killPostgres(name: string): Promise<void> {
      const file = join(folder, name.replace('postgres', 'data'), '15/pds/postmaster.pid');
      process.kill(Number.parseInt(await readFile(file, 'utf8'), 10), 'SIGKILL');
    },
    members,
    leader,
    /** Waits until all three run on one timeline, and one of them is a synchronous standby. */
    async heal(): Promise<void> {
      for (;;) {
        const all = await members();
        const isWhole = all.length === 3 && new Set(all.map(({ timeline }) => timeline)).size === 1;
        if (isWhole && all.every(({ state }) => state === 'running' || state === 'streaming'))
          if (all.some(({ role }) => role === 'sync_standby')) return;
        await delay(100);
      }
    },
    /** Makes Patroni choose another primary. */
    async switchover(): Promise<void> {
      const body = JSON.stringify({ leader: await leader() });
      const response = await fetch(`${patroniUrl}/switchover`, { method: 'POST', body });
      if (!response.ok) throw new Error(`switchover: ${await response.text()}`);
    },
    /** The process ids of the services: they change if one is restarted. */
    services: () => ['service-1.pid', 'service-2.pid'].map((name) => fileOf(name).trim()),
    /** The log of a part so far. */
    logOf: (part: string) => fileOf(`${part}.log`),
    logs(): string {
      const names = readdirSync(folder).filter((name) => name.endsWith('.log'));
      const last = (name: string): string =>
        fileOf(name)
          .split('\n')
          .filter((line) => !line.includes('request answered'))
          .slice(-60)
          .join('\n');
      return [output, ...names.map((name) => `== ${name}\n${last(name)}`)].join('\n');
    },
    async close(): Promise<void> {
      child.kill('SIGTERM');
      await exited;
      await workspace.close();
    },
  };
  // The replicas are copied while the service starts.
  await cluster.heal();
  return cluster;
}
