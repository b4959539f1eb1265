import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect } from 'vitest';
import { issueKey, listKeys, revokeKey } from '../../src/access/key-admin.ts';
import { callPds } from '../commands/call-pds.ts';
import { createClient, type Client } from '../support/client.ts';
import { ROLE } from '../support/cluster/postgres.ts';
import { startServicePart } from '../support/cluster/service.ts';
import { startStandbyPair } from '../support/cluster/standby-pair.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { findInstalledPrograms } from '../support/postgres/postgres-programs.ts';
import { contract, publishLines, solicitation } from '../support/publishing.ts';
import { Copy, KINDS } from '../sync/copy.ts';

const test = testWith('postgresql');

let settings: { PDS_DATABASE_URL: string };

const pair = forAllTests(startStandbyPair);
beforeAll(() => {
  settings = { PDS_DATABASE_URL: pair.url };
}, 60_000);

/** The client that the copies use. */
let asked: Client;

function makeCopies(): Copy[] {
  asked = pair.client;
  return KINDS.map((kind) => new Copy(kind, pair.key, (path, options) => asked.get(path, options)));
}

async function syncAll(copies: readonly Copy[]): Promise<number[]> {
  const received = [];
  for (const copy of copies) received.push(await copy.sync());
  return received;
}

async function expectInStep(copies: readonly Copy[]): Promise<void> {
  for (const copy of copies) {
    for (const record of await copy.listAll()) expect(copy.records.get(record.id), record.id).toEqual(record);
  }
}

test('a database restored with pg_dump and pg_restore continues after pds recover', async () => {
  const programs = findInstalledPrograms();
  const dump = join(pair.workspace.makeFolder('dumps'), 'pds.dump');
  await pair.workspace.run(join(programs, 'pg_dump'), '--format=custom', `--file=${dump}`, pair.primary.url);
  await publishLines(pair.database, { contracts: [{ ...contract('ctr_1'), name: 'Contract changed since' }] });
  const copies = makeCopies();
  await syncAll(copies);

  await pair.primary.query(`create database pds_restored owner ${ROLE.name}`, [], 'postgres');
  const restored = new URL(pair.primary.url);
  restored.pathname = '/pds_restored';
  await pair.workspace.run(
    join(programs, 'pg_restore'),
    ...['--no-owner', '--exit-on-error', `--dbname=${restored.href}`, dump],
  );
  const restoredSettings = { PDS_DATABASE_URL: restored.href };
  // The dump is from the same server and timeline, but its tables are new.
  expect((await callPds(['partner', 'list'], restoredSettings)).stderr).toContain('pds recover');
  const recovered = await callPds(['recover', '--yes', '--json'], restoredSettings);
  expect(recovered.code).toBe(0);
  expect((await callPds(['partner', 'list'], restoredSettings)).stderr).toBe('');

  const other = await startServicePart(pair.workspace, restored.href);
  const otherClient = createClient(other.url);
  try {
    // The same copies, with their existing watermarks.
    asked = otherClient;
    expect(await syncAll(copies)).toEqual([2, 2, 2]);
    await expectInStep(copies);
  } finally {
    asked = pair.client;
    otherClient.close();
    await other.stop();
  }
});

test("after pds recover on a promoted lagging standby, every client's copy becomes correct while the service runs", async () => {
  const { details: lostRevocation } = await issueKey(pair.database, Date.now, 'acme', {
    environment: 'test',
    lifetimeMs: null,
  });
  await pair.standby.catchUp();
  // The standby is cut off from the primary.
  await pair.standby.query(`alter system set primary_conninfo = ''`);
  await pair.standby.query('select pg_reload_conf()');
  while ((await pair.standby.query('select 1 from pg_stat_wal_receiver')).length > 0) await sleep(20);

  await publishLines(pair.database, {
    contracts: [{ ...contract('ctr_2'), name: 'Contract seen and lost' }],
    solicitations: [{ ...solicitation('sol_1', 1), title: 'Seen and lost' }],
  });
  await revokeKey(pair.database, Date.now, lostRevocation.id);
  const copies = makeCopies();
  // The first request of the copies: its cached response is served until the service notices a newer revision.
  await untilSeen('/v1/solicitations?updated_since=1970-01-01T00%3A00%3A00.000Z&limit=3', 'Seen and lost');
  await syncAll(copies);
  expect(copies.some(({ records }) => records.get('sol_1')?.['title'] === 'Seen and lost')).toBe(true);

  await pair.primary.kill();
  await pair.standby.query('select pg_promote()');
  pair.name.moveTo(pair.standby.port);
  await untilItAnswers();

  // Changes continue before anyone notices.
  await publishLines(pair.database, { contracts: [{ ...contract('ctr_3'), name: 'Contract between' }] });
  const warned = await callPds(['key', 'list'], settings);
  expect(warned.code).toBe(0);
  expect(warned.stderr).toMatch(/promoted or restored.*pds recover/);

  const recovered = await callPds(['recover', '--yes'], settings);
  expect(recovered.code).toBe(0);
  expect(recovered.stderr).toContain('A KEY REVOKED SINCE THEN WORKS AGAIN');
  expect((await listKeys(pair.database, Date.now, 'acme')).find(({ id }) => id === lostRevocation.id)?.state).toBe(
    'active',
  );
  expect((await callPds(['key', 'list'], settings)).stderr).toBe('');

  await publishLines(pair.database, { contracts: [{ ...contract('ctr_4'), name: 'Contract after' }] });
  await untilSeen('/v1/contracts?q=after', 'Contract after');
  await syncAll(copies);
  await expectInStep(copies);
  expect(await syncAll(copies)).toEqual([0, 0, 0]);
  expect(copies.some(({ records }) => records.get('sol_1')?.['title'] === 'Solicitation sol_1')).toBe(true);
});

async function untilSeen(path: string, text: string): Promise<void> {
  while (!(await pair.client.get(path, { key: pair.key })).body.includes(text)) await sleep(50);
}

async function untilItAnswers(): Promise<void> {
  while ((await pair.client.get(`/v1/solicitations/count?q=${randomUUID()}`, { key: pair.key })).status !== 200)
    await sleep(50);
}
