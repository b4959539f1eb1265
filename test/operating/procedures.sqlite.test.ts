import { appendFileSync, existsSync, readdirSync } from 'node:fs';
import { afterAll, describe, expect } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { blocksRunBy } from '../docs/command-blocks.ts';
import { createClient, listAllPages, type Client } from '../support/client.ts';
import { startNginx } from '../support/cluster/nginx.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { SMALL_CATALOG, withImportDirectory } from '../support/publishing.ts';
import { Machine } from './machine.ts';
import { testWith } from '../support/installed-programs.ts';

const test = testWith('nginx', 'openssl', 'curl');

const INSTALLING = 'docs/operators/install.md';
const SHARING = 'docs/operators/several-processes.md';
const UPGRADING = 'docs/operators/upgrading.md';
const PARTNERS = 'docs/operators/partners-and-keys.md';
const BACKUP = 'docs/operators/backup-and-recovery.md';

/** Each waits for the service to start, possibly on a machine busy with other tests. */
const MAX_PROCEDURE_MS = 120_000;

let client: Client;
let key: string;

const machine = forAllTests(() => Machine.start());
afterAll(() => client.close());

describe("the procedures of the operators' guide", { timeout: MAX_PROCEDURE_MS }, () => {
  test('install a service that responds', async () => {
    await machine.run(INSTALLING, 'sudo useradd');
    // The settings serve one machine as installed. Only this test's limit and port are added.
    const settings = machine.path('/etc/partner-data-service/environment');
    appendFileSync(settings, `PDS_REQUESTS_PER_MINUTE="1000000"\nPDS_ADMIN_PORT="${machine.port(8081)}"\n`);
    await machine.run(INSTALLING, 'sudo systemctl daemon-reload');
    await withImportDirectory(SMALL_CATALOG, (directory) => machine.shell(`sudo pds import ${directory}`));
    await machine.shell('sudo pds partner create acme --everything');
    key = (await machine.shell('sudo pds key issue acme')).trim();
    const nginx = await startNginx(machine.workspace, [machine.port(8080), machine.port(8080)]);
    client = createClient(nginx.url, nginx.tls);
    expect(await client.get('/v1/contracts/ctr_1', { key })).toMatchObject({ status: 200 });
  });

  test('back up every night, and report when', async () => {
    await machine.run(BACKUP, 'cd /opt');
    const folder = machine.path('/var/lib/partner-data-service/backups');
    const isMade = ([name = '']: readonly string[]): boolean => name.endsWith('Z');
    await expect.poll(() => existsSync(folder) && isMade(readdirSync(folder)), { timeout: 60_000 }).toBe(true);
    const scrape = () => machine.shell('curl -fsS http://127.0.0.1:8081/metrics');
    const noted = /^pds_last_backup_timestamp_seconds [1-9]/m;
    await expect.poll(scrape, { timeout: 60_000 }).toMatch(noted);
  });

  test('upgrade one host: its service restarts from the new folder', async () => {
    const before = machine.manager.pidOf('partner-data-service');
    // Another version than the one that was installed has another folder.
    await machine.run(UPGRADING, 'sudo git clone', { [`service/${manifest.version}`]: 'service/next' });
    await machine.run(UPGRADING, 'sudo pds migrate');
    await machine.run(UPGRADING, 'sudo systemctl restart');
    expect(machine.manager.pidOf('partner-data-service')).not.toBe(before);
    expect(await client.get('/v1/contracts/ctr_1', { key })).toMatchObject({ status: 200 });
    expect(machine.manager.killed).toEqual([]);
  });

  test('upgrade one machine with two services on one port without a failed request', async () => {
    await machine.run(SHARING, 'sudo install -m 644 /opt');
    await machine.shell(
      'for port in 8081 8082; do until curl -fs http://127.0.0.1:$port/readyz; do sleep 0.1; done; done',
    );
    let isOver = false;
    const statuses = new Set<number>();
    const asking = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        for (const { status } of await listAllPages(client.get, '/v1/contracts', key, [1])) statuses.add(status);
      }
    });
    const pids = (): (number | undefined)[] =>
      [8081, 8082].map((port) => machine.manager.pidOf(`partner-data-service@${machine.port(port)}`));
    const before = pids();
    await machine.run(UPGRADING, 'for port');
    isOver = true;
    await Promise.all(asking);
    expect([...statuses]).toEqual([200]);
    expect(pids().filter((pid) => pid === undefined || before.includes(pid))).toEqual([]);
    expect(machine.manager.killed).toEqual([]);
  });

  test('rotate and revoke a leaked key, which the audit trail shows', async () => {
    const leaked = /_([^_]{8})_/.exec(key)?.[1] ?? '';
    const rotated = (await machine.run(PARTNERS, 'sudo pds key rotate', { KEY_ID: leaked })).trim();
    for (const good of [key, rotated]) {
      expect(await client.get('/v1/coops', { key: good })).toMatchObject({ status: 200 });
    }
    const issued = (await machine.run(PARTNERS, 'sudo pds key revoke', { KEY_ID: leaked })).trim();
    // It takes up to a second on both services: four consecutive rejections reach both.
    let refused = 0;
    while (refused < 4) refused = (await client.get('/v1/coops', { key })).status === 401 ? refused + 1 : 0;
    expect(await client.get('/v1/coops', { key: issued })).toMatchObject({ status: 200 });
    const trail = await machine.run(PARTNERS, 'sudo pds key list');
    expect(trail).toMatch(new RegExp(`key rotate.*${leaked}`));
    expect(trail).toMatch(new RegExp(`key revoke.*${leaked}`));
    expect(trail).not.toContain(key);
  });

  test('every block was run', () => {
    expect(machine.ran).toEqual(blocksRunBy('procedures.sqlite'));
  });
});
