import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { issueKey, listKeys, revokeKey } from '../../src/access/key-admin.ts';
import { openForCommands, type OpenDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrator.ts';
import { runPds } from '../commands/run-pds.ts';
import { createClient, type Client } from '../support/client.ts';
import { ROLE, startPrimary, startReplica, type PostgresPart, type ReplicaPart } from '../support/cluster/postgres.ts';
import { startServicePart, type ServicePart } from '../support/cluster/service.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { makePartner } from '../support/partners.ts';
import { findInstalledPrograms } from '../support/postgres-programs.ts';
import { contract, publishLines, SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { Copy, KINDS } from '../sync/copy.ts';

const test = testWith('postgresql');

let workspace: Workspace;
let primary: PostgresPart;
let standby: ReplicaPart;
/** The name under which the primary is reached, which moves to whichever server that is. */
let name: TcpProxy;
let settings: { PDS_DATABASE_URL: string };
let database: OpenDatabase;
let service: ServicePart;
let client: Client;
let key: string;

beforeAll(async () => {
  workspace = new Workspace();
  primary = await startPrimary(workspace);
  name = await startTcpProxy({ port: primary.port });
  const url = new URL(primary.url);
  url.port = String(name.port);
  settings = { PDS_DATABASE_URL: url.href };
  database = openForCommands({ engine: 'postgres', url: url.href });
  await migrate(database, Date.now);
  await publishLines(database, SMALL_CATALOG);
  ({ key } = await makePartner(database, Date.now, { name: 'acme', everything: true }));
  standby = await startReplica(workspace, 'standby', primary);
  service = await startServicePart(workspace, url.href);
  client = createClient(service.url);
}, 60_000);
afterAll(async () => {
  client.close();
  await database.close();
  await name.close();
  await workspace.close();
});

/** Whom the copies ask. */
let asked: Client;

function makeCopies(): Copy[] {
  asked = client;
  return KINDS.map((kind) => new Copy(kind, key, (path, options) => asked.get(path, options)));
}

async function syncAll(copies: readonly Copy[]): Promise<number[]> {
  const received = [];
  for (const copy of copies) received.push(await copy.sync());
  return received;
}

async function expectInStep(copies: readonly Copy[]): Promise<void> {
  for (const copy of copies) {
    for (const record of await copy.walkAll()) expect(copy.records.get(record.id), record.id).toEqual(record);
  }
}

test('pg_dump and pg_restore bring a database back that pds recover lets go on', async () => {
  const programs = findInstalledPrograms();
  const dump = join(workspace.makeFolder('dumps'), 'pds.dump');
  await workspace.run(join(programs, 'pg_dump'), '--format=custom', `--file=${dump}`, primary.url);
  await publishLines(database, { contracts: [{ ...contract('ctr_1'), name: 'Contract changed since' }] });
  const copies = makeCopies();
  await syncAll(copies);

  await primary.query(`create database pds_restored owner ${ROLE.name}`, [], 'postgres');
  const restored = new URL(primary.url);
  restored.pathname = '/pds_restored';
  await workspace.run(
    join(programs, 'pg_restore'),
    ...['--no-owner', '--exit-on-error', `--dbname=${restored.href}`, dump],
  );
  const restoredSettings = { PDS_DATABASE_URL: restored.href };
  // The dump is of the same server and timeline, but its tables are others.
  expect((await runPds(['partner', 'list'], restoredSettings)).stderr).toContain('pds recover');
  const recovered = await runPds(['recover', '--json'], restoredSettings);
  expect(recovered.code).toBe(0);
  expect((await runPds(['partner', 'list'], restoredSettings)).stderr).toBe('');

  const other = await startServicePart(workspace, restored.href);
  const otherClient = createClient(other.url);
  try {
    // The same copies, with the watermarks that they have.
    asked = otherClient;
    expect(await syncAll(copies)).toEqual([2, 2, 2]);
    await expectInStep(copies);
  } finally {
    asked = client;
    otherClient.close();
    await other.stop();
  }
});

test('a promoted standby that lagged has every client in step again after pds recover, with the service running all the time', async () => {
  const { details: lostRevocation } = await issueKey(database, Date.now, 'acme', {
    environment: 'test',
    lifetimeMs: null,
  });
  await standby.catchUp();
  // The standby's network is gone: from here on it gets nothing.
  await standby.query(`alter system set primary_conninfo = ''`);
  await standby.query('select pg_reload_conf()');
  while ((await standby.query('select 1 from pg_stat_wal_receiver')).length > 0) await sleep(20);

  await publishLines(database, {
    contracts: [{ ...contract('ctr_2'), name: 'Contract seen and lost' }],
    solicitations: [{ ...solicitation('sol_1', 1), title: 'Seen and lost' }],
  });
  await revokeKey(database, Date.now, lostRevocation.id);
  const copies = makeCopies();
  // What the copies ask first: an answer to it that is kept is given until the service has heard of more.
  await untilSeen('/v1/solicitations?updated_since=1970-01-01T00%3A00%3A00.000Z&limit=3', 'Seen and lost');
  await syncAll(copies);
  expect(copies.some(({ records }) => records.get('sol_1')?.['title'] === 'Seen and lost')).toBe(true);

  await primary.kill();
  await standby.query('select pg_promote()');
  name.moveTo(standby.port);
  await untilItAnswers();

  // Events go on before anyone has noticed.
  await publishLines(database, { contracts: [{ ...contract('ctr_3'), name: 'Contract between' }] });
  const warned = await runPds(['key', 'list'], settings);
  expect(warned.code).toBe(0);
  expect(warned.stderr).toMatch(/promoted or restored.*pds recover/);

  const recovered = await runPds(['recover'], settings);
  expect(recovered.code).toBe(0);
  expect(recovered.stderr).toContain('A KEY THAT WAS REVOKED SINCE IS GOOD AGAIN');
  expect((await listKeys(database, Date.now, 'acme')).find(({ id }) => id === lostRevocation.id)?.state).toBe('active');
  expect((await runPds(['key', 'list'], settings)).stderr).toBe('');

  await publishLines(database, { contracts: [{ ...contract('ctr_4'), name: 'Contract after' }] });
  await untilSeen('/v1/contracts?q=after', 'Contract after');
  await syncAll(copies);
  await expectInStep(copies);
  expect(await syncAll(copies)).toEqual([0, 0, 0]);
  expect(copies.some(({ records }) => records.get('sol_1')?.['title'] === 'Solicitation sol_1')).toBe(true);
});

async function untilSeen(path: string, text: string): Promise<void> {
  while (!(await client.get(path, { key })).body.includes(text)) await sleep(50);
}

async function untilItAnswers(): Promise<void> {
  while ((await client.get(`/v1/solicitations/count?q=${randomUUID()}`, { key })).status !== 200) await sleep(50);
}
