import { afterAll, beforeAll, expect, inject } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { startPgBouncer } from '../support/cluster/pgbouncer.ts';
import { ROLE, startPrimary, startReplica, type PostgresPart, type ReplicaPart } from '../support/cluster/postgres.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { databaseUrl } from '../support/postgres.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { runCheck, type Checked } from './check-contract.ts';

const test = testWith('postgresql');

let primary: PostgresPart;
let replica: ReplicaPart;
let database: OpenDatabase;

const workspace = forAllTests(() => new Workspace());
beforeAll(async () => {
  primary = await startPrimary(workspace);
  database = openForCommands({ engine: 'postgres', url: primary.url });
  await migrate(database, Date.now);
  replica = await startReplica(workspace, 'replica-1', primary);
}, 60_000);
afterAll(() => database.close());

const check = (replicaUrl: string, url = primary.url): Promise<Checked> =>
  runCheck({ settings: { PDS_DATABASE_URL: url, PDS_REPLICA_URL: replicaUrl }, secrets: [ROLE.password] });

test('pds check passes for a replica that has caught up', async () => {
  await publishLines(database, SMALL_CATALOG);
  const { findings, troubles } = await check(replica.url);
  expect(troubles).toEqual([]);
  expect(findings.at(-1)).toMatchObject({
    about: `replica 127.0.0.1:${replica.port}/pds`,
    message: 'it is up to date',
  });
});

test('pds check warns if a replica lacks the latest changes, or receives nothing from its primary', async () => {
  await replica.pauseReplay();
  await publishLines(database, { coops: [{ id: 'co_new', name: 'New' }] });
  expect((await check(replica.url)).troubles).toEqual([
    expect.stringMatching(/^warn\|replica .*: it lacks the primary's latest changes, .*; its WAL replay is paused$/),
  ]);
  await replica.resumeReplay();
  await replica.catchUp();
  expect((await check(replica.url)).troubles).toEqual([]);
  await primary.stop();
  const { troubles } = await check(replica.url);
  expect(troubles).toEqual([
    expect.stringMatching(/^fail\|database .*: connection failed: .*ECONNREFUSED/),
    expect.stringMatching(/^warn\|replica .*; it receives nothing from its primary$/),
  ]);
  await primary.start();
});

testWith('postgresql', 'pgbouncer')(
  'pds check works through PgBouncer, and fails if the URL does not say so',
  async () => {
    const pgbouncer = await startPgBouncer(workspace, primary, replica);
    expect((await check(pgbouncer.url({ ofReplica: true }), pgbouncer.url())).troubles).toEqual([]);
    const { findings, troubles } = await check(replica.url, pgbouncer.url().replace('?pgbouncer=true', ''));
    expect(troubles).toEqual([expect.stringMatching(/^fail\|database .*unsupported startup parameter/)]);
    const advice = 'Add ?pgbouncer=true to the URL in PDS_DATABASE_URL.';
    expect(findings.find(({ status }) => status === 'fail')).toMatchObject({ advice });
    await pgbouncer.stop();
  },
);

test('pds check fails if a replica is a primary, or of a different database', async () => {
  expect((await check(primary.url)).troubles).toEqual([
    expect.stringMatching(/^fail\|replica .*: it is not a replica/),
  ]);
  for (const server of [inject('postgresUrl'), replica.url]) {
    expect((await check(databaseUrl(server, 'postgres'))).troubles, server).toEqual([
      expect.stringMatching(/^fail\|replica .*: it is a replica of a different database/),
    ]);
  }
});

test('pds check fails if PDS_DATABASE_URL names a replica', async () => {
  const { troubles } = await check(replica.url, replica.url);
  expect(troubles).toEqual([expect.stringMatching(/^fail\|database .*: it is a read-only standby$/)]);
});

test('pds check fails if a password is wrong, or a replica hangs or is down', async () => {
  const wrong = new URL(primary.url);
  wrong.password = 'sesame';
  const refused = await runCheck({ settings: { PDS_DATABASE_URL: wrong.href }, secrets: ['sesame'] });
  expect(refused.troubles).toEqual([
    expect.stringMatching(/^fail\|database .*: password authentication failed for user "pds"$/),
  ]);
  expect(refused.findings.at(-1)?.advice).toContain('Correct the role and password in PDS_DATABASE_URL');
  replica.freeze();
  expect((await check(replica.url)).troubles).toEqual([expect.stringMatching(/^fail\|replica .*: .*timeout/)]);
  replica.thaw();
  await replica.stop();
  expect((await check(replica.url)).troubles).toEqual([expect.stringMatching(/^fail\|replica .*ECONNREFUSED/)]);
});
