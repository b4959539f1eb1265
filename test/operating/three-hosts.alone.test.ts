import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect } from 'vitest';
import { blocksRunBy } from '../docs/command-blocks.ts';
import { findCommands, readDocument } from '../docs/documents.ts';
import { createClient, type Client } from '../support/client.ts';
import { fillIn } from '../support/cluster/operator-file.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { findObstacle, Hosts, type Host } from './hosts/hosts.ts';

const OPERATORS = 'docs/operators';
const GUIDE = `${OPERATORS}/several-machines.md`;
const INSTALLING = `${OPERATORS}/install.md`;
const UNITS = ['etcd', 'patroni', 'haproxy', 'redis-server', 'redis-sentinel', 'partner-data-service'];

/** Three hosts at a time, each on a share of two cores. */
const MAX_STEP_MS = 240_000;

/** Between the requests of a connection: more would take the cores from the health checks, which then fail. */
const PAUSE_MS = 150;

const obstacle = await findObstacle();
if (obstacle !== null) process.stderr.write(`tests are skipped, since this machine has no ${obstacle}\n`);
const program = testWith(
  'postgresql',
  'patroni',
  'etcd',
  'haproxy',
  'redis',
  'nginx',
  'openssl',
  'curl',
  'psql',
  'systemd',
);
const test = obstacle === null ? program : program.skip;

let client: Client;
let key: string;
const ran = new Set<string>();

const hosts = forAllTests(() => Hosts.start());
const opened = forAllTests(() => new AsyncDisposableStack());
afterEach(({ task }) => {
  if (task.result?.state === 'fail') for (const host of hosts.all) process.stderr.write(`${host.logs()}\n`);
});

const numberOf = (host: Host): number => hosts.all.indexOf(host) + 1;

/** Runs a block of a document as printed; the variable N is the host's number, in later blocks too. */
async function runBlock(host: Host, start: string, { file = GUIDE, before = '' } = {}): Promise<string> {
  const { commands } = findCommands(file, start);
  if (file === GUIDE) ran.add(`${file}: ${commands.split('\n')[0]}`);
  const n = `N=${numberOf(host)}`;
  return host.shell(`${n}\n${before}\n${commands.replace('N=1', n)}`);
}

const onEach = (work: (host: Host) => Promise<unknown>): Promise<unknown> => Promise.all(hosts.all.map(work));

function hostOf(n: number): Host {
  return hosts.all[n - 1] ?? expect.fail(`there is no host ${n}`);
}

/** Starts nginx on the machine in front, and a client of it: sockets in the file system have no network namespace. */
async function startFront(): Promise<Client> {
  const { front, workspace } = hosts;
  workspace.makeFolder('nginx');
  const folder = '/mnt/nginx';
  const request =
    'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=api.example.com';
  await front.shell(
    `${request} -addext subjectAltName=DNS:api.example.com -keyout ${folder}/site.key -out ${folder}/site.pem`,
  );
  const second = 'server 10.0.0.12:8080 max_fails=3 fail_timeout=10s;';
  const site = fillIn('nginx.conf', {
    [second]: `${second} ${second.replace('.12', '.13')}`,
    'listen 443 ssl': `listen unix:${folder}/site.sock ssl`,
    '/etc/nginx/tls/api.example.com': `${folder}/site`,
  });
  const around = `user root; pid ${folder}/nginx.pid; events {} http { ${site} }`;
  writeFileSync(workspace.path('nginx', 'nginx.conf'), around);
  // Its processes keep what it began with.
  await front.shell(`nginx -c ${folder}/nginx.conf >${folder}/log 2>&1`);
  const relay = createServer((socket) => {
    const other = connect(workspace.path('nginx', 'site.sock'));
    for (const one of [socket, other]) one.on('error', () => [socket, other].forEach((each) => each.destroy()));
    socket.pipe(other).pipe(socket);
  });
  relay.listen(0, '127.0.0.1').unref();
  await once(relay, 'listening');
  opened.defer(() => void relay.close());
  const ca = await front.shell(`cat ${folder}/site.pem`);
  const url = `https://127.0.0.1:${(relay.address() as AddressInfo).port}`;
  return createClient(url, { ca, servername: 'api.example.com' });
}

interface Load {
  readonly requests: number;
  /** The responses that are not as expected. */
  readonly failures: readonly string[];
}

/** Sends requests, none of which a cache can answer, and reads streams, on connections that are kept, until the work is done. */
async function underLoad(work: () => Promise<unknown>): Promise<Load> {
  let isFinished = false;
  let requests = 0;
  const failures: string[] = [];
  const get = async (path: string): Promise<string> => {
    const { status, body } = await client
      .get(path, { key })
      .catch((error: unknown) => ({ status: 0, body: String(error) }));
    if (status !== 200) failures.push(`${path}: ${status} ${body.slice(0, 200)}`);
    return body;
  };
  const stream = async (): Promise<number> => (await get('/v1/solicitations?format=ndjson')).split('\n').length;
  const lines = await stream();
  expect(lines).toBeGreaterThan(400);
  const requesting = Array.from({ length: 6 }, async () => {
    while (!isFinished) {
      requests += 1;
      await get(`/v1/solicitations?limit=2&q=road${performance.now()}`);
      await delay(PAUSE_MS);
    }
  });
  const streaming = Array.from({ length: 2 }, async () => {
    while (!isFinished) {
      requests += 1;
      const read = await stream();
      if (read !== lines) failures.push(`a stream of ${read} lines instead of ${lines}`);
      await delay(PAUSE_MS);
    }
  });
  await work().finally(() => (isFinished = true));
  await Promise.all([...requesting, ...streaming]);
  return { requests, failures };
}

/** The commands of an item of the guide's list of failures. */
function findCommandsFor(failure: string): string[] {
  const [, item = ''] = readDocument(GUIDE).split(`\n- **${failure}:**`);
  const [text = ''] = item.split(/\n(?:- |\n)/);
  const quoted = [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
  const commands = quoted.filter((code) => code.includes(' '));
  expect(commands, failure).not.toEqual([]);
  return commands;
}

describe("the guide's commands, on three hosts", { timeout: MAX_STEP_MS }, () => {
  test('install a cluster, up to the first request', async () => {
    await onEach(async (host) => {
      await runBlock(host, 'N=1');
      await runBlock(host, 'sudo useradd', { file: INSTALLING });
    });
    await runBlock(hostOf(1), '/opt/partner-data-service/current/ops/cluster/prepare.sh');
    await onEach((host) => runBlock(host, 'cd ~/host'));
    const members = await runBlock(hostOf(1), 'until curl -fs --cacert ca.pem', { before: 'cd ~/host' });
    expect(members.match(/postgres-\d/g)?.sort()).toEqual(['postgres-1', 'postgres-2', 'postgres-3']);
    await onEach((host) => runBlock(host, 'sudo systemctl daemon-reload', { before: 'cd ~/host' }));
    const response = await runBlock(hostOf(1), 'sudo pds import /opt');
    expect(response.split('\n').at(-1)).toMatch(/^\{"data":\[\{"id":"ctr_/);
  });

  test('use units that are valid for systemd, and an etcd that refuses a client without a certificate', async () => {
    const files = UNITS.map(
      (unit) => `$(ls /etc/systemd/system/${unit}.service /lib/systemd/system/${unit}.service 2>/dev/null)`,
    );
    expect(await hostOf(1).attempt(`systemd-analyze verify ${files.join(' ')}`)).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    const { code: refused } = await hostOf(2).attempt(
      'curl -s --cacert /etc/etcd/ca.pem https://10.0.0.11:2379/v2/keys/service/pds',
    );
    expect(refused).not.toBe(0);
    const { stdout } = await hostOf(2).attempt(
      'curl -fs --cacert /etc/etcd/ca.pem --cert /etc/etcd/host.pem --key /etc/etcd/host.key https://10.0.0.11:2379/v2/keys/service/pds',
    );
    expect(stdout).toContain('/service/pds/leader');
  });

  test('restart HAProxy without losing a request, unlike a restart while its service runs', async () => {
    client = await startFront();
    opened.defer(() => client.close());
    await hostOf(1).shell('sudo pds partner set acme --per-minute 1000000');
    key = (await hostOf(1).shell('sudo pds key issue acme')).trim();
    const restarted = await underLoad(() => runBlock(hostOf(2), 'sudo systemctl stop partner-data-service'));
    expect(restarted.failures).toEqual([]);
    expect(restarted.requests).toBeGreaterThan(100);
    const careless = await underLoad(() => hostOf(1).shell('sudo systemctl restart haproxy\nsleep 2'));
    expect(careless.failures).not.toEqual([]);
  });

  test('find a service that hangs, of which partners notice three slow requests, and restart it', async () => {
    const get = async (): Promise<number> => {
      const startedMs = performance.now();
      expect((await client.get(`/v1/solicitations?limit=1&q=${startedMs}`, { key })).status).toBe(200);
      return performance.now() - startedMs;
    };
    await hostOf(2).shell('kill -STOP $(systemctl pid partner-data-service)');
    const first = await Promise.all(Array.from({ length: 9 }, get));
    expect(first.filter((ms) => ms > 6_500)).toHaveLength(3);
    for (const endMs = performance.now() + 3_000; performance.now() < endMs;) expect(await get()).toBeLessThan(3_000);
    const [look = '', restart = ''] = findCommandsFor('A service hangs');
    // curl's code of a time-out.
    expect((await hosts.front.attempt(look)).code).toBe(28);
    await hostOf(2).shell(`${restart}\nuntil curl -fs http://10.0.0.12:8081/readyz; do sleep 1; done`);
    expect((await hosts.front.attempt(look)).code).toBe(0);
  });

  test('show that HAProxy of a host hangs: its service responds with 500, until HAProxy is restarted', async () => {
    let count = 0;
    const uncached = (): Promise<string> => {
      const url = `http://10.0.0.13:8080/v1/solicitations?limit=1&q=water${(count += 1)}`;
      const format = '-s -o /dev/null -w "%{http_code}"';
      return hosts.front.shell(`curl ${format} -H 'Authorization: Bearer ${key}' '${url}'`);
    };
    expect(await uncached()).toBe('200');
    const all = 'pid=$(systemctl pid haproxy); all="$pid $(pgrep -P $pid)"\n';
    await hostOf(3).shell(`${all}kill -STOP $all`);
    await expect.poll(uncached, { timeout: 30_000 }).toBe('500');
    // One that hangs otherwise is killed after systemd's 90 seconds.
    const [restart = ''] = findCommandsFor('HAProxy of one host hangs');
    await hostOf(3).shell(`${all}kill -CONT $all\n${restart}`);
    await expect.poll(uncached, { timeout: 30_000 }).toBe('200');
  });

  test('survive the loss of a host: another has the primary, and needs no command', async () => {
    const isPrimary = async (n: number): Promise<boolean> =>
      (await hosts.front.attempt(`curl -fs http://10.0.0.1${n}:8008/primary`)).code === 0;
    const states = await Promise.all([1, 2, 3].map(isPrimary));
    const lost = states.indexOf(true) + 1;
    expect(lost).toBeGreaterThan(0);
    await hostOf(lost).lose();
    const other = hostOf((lost % 3) + 1);
    await expect
      .poll(async () => (await other.attempt('sudo pds partner set acme --per-minute 999999')).code, {
        timeout: 90_000,
      })
      .toBe(0);
    await expect
      .poll(async () => (await client.get('/v1/solicitations?limit=1&q=bridge', { key })).status, { timeout: 60_000 })
      .toBe(200);
    // Once promoted.sh has run `pds recover`.
    const isRecovered = async (): Promise<boolean> => {
      const { stdout } = await other.attempt('sudo pds check');
      return /^ok +index/m.test(stdout) && !/^\S+ +history/m.test(stdout);
    };
    await expect.poll(isRecovered, { timeout: 60_000 }).toBe(true);
  });
});

test('every block for three hosts was run', () => {
  expect([...ran].sort()).toEqual(blocksRunBy('three-hosts'));
});
