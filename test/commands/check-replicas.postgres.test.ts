import { afterAll, beforeAll, expect, inject } from 'vitest';
import { openForCommands, type OpenDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrator.ts';
import { startPgBouncer } from '../support/cluster/pgbouncer.ts';
import { ROLE, startPrimary, startReplica, type PostgresPart, type ReplicaPart } from '../support/cluster/postgres.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { databaseUrl } from '../support/postgres.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { runCheck, type Checked } from './checked.ts';

const test = testWith('postgresql');

let workspace: Workspace;
let primary: PostgresPart;
let replica: ReplicaPart;
let database: OpenDatabase;

beforeAll(async () => {
  workspace = new Workspace();
  primary = await startPrimary(workspace);
  database = openForCommands({ engine: 'postgres', url: primary.url });
  await migrate(database, Date.now);
  replica = await startReplica(workspace, 'replica-1', primary);
}, 60_000);
afterAll(async () => {
  await database.close();
  await workspace.close();
});

const check = (replicaUrl: string, url = primary.url): Promise<Checked> =>
  runCheck({ PDS_DATABASE_URL: url, PDS_REPLICA_URLS: replicaUrl }, { secrets: [ROLE.password] });

test('pds check finds nothing wrong with a replica that has caught up', async () => {
  await publishLines(database, SMALL_CATALOG);
  const { findings, troubles } = await check(replica.url);
  expect(troubles).toEqual([]);
  expect(findings.at(-1)).toMatchObject({
    about: `replica 127.0.0.1:${replica.port}/pds`,
    message: 'it is up to date',
  });
});

test('pds check warns where a replica lacks what was published, and where it receives nothing', async () => {
  await replica.pauseReplay();
  await publishLines(database, { coops: [{ id: 'co_new', name: 'New' }] });
  expect((await check(replica.url)).troubles).toEqual([
    expect.stringMatching(/^warn\|replica .*: it lacks what the primary published .*; its replay is paused$/),
  ]);
  await replica.resumeReplay();
  await replica.catchUp();
  expect((await check(replica.url)).troubles).toEqual([]);
  await primary.stop();
  const { troubles } = await check(replica.url);
  expect(troubles).toEqual([
    expect.stringMatching(/^fail\|database .*: it cannot be used: .*ECONNREFUSED/),
    expect.stringMatching(/^warn\|replica .*; it receives nothing from its primary$/),
  ]);
  await primary.start();
});

testWith('postgresql', 'pgbouncer')(
  'pds check looks through PgBouncer, and tells where the URL does not name it',
  async () => {
    const pgbouncer = await startPgBouncer(workspace, primary, [replica]);
    expect((await check(pgbouncer.url(1), pgbouncer.url())).troubles).toEqual([]);
    const { findings, troubles } = await check(replica.url, pgbouncer.url().replace('?pgbouncer=true', ''));
    expect(troubles).toEqual([expect.stringMatching(/^fail\|database .*unsupported startup parameter/)]);
    const advice = 'end the URL in PDS_DATABASE_URL with ?pgbouncer=true';
    expect(findings.find(({ status }) => status === 'fail')).toMatchObject({ advice });
    await pgbouncer.stop();
  },
);

test('pds check fails where a replica is none, or of another database', async () => {
  expect((await check(primary.url)).troubles).toEqual([expect.stringMatching(/^fail\|replica .*: it is no replica/)]);
  const other = databaseUrl(inject('postgresUrl'), 'postgres');
  expect((await check(other)).troubles).toEqual([
    expect.stringMatching(/^fail\|replica .*: it belongs to another database/),
  ]);
  const beside = new URL(replica.url);
  beside.pathname = '/postgres';
  expect((await check(beside.href)).troubles).toEqual([
    expect.stringMatching(/^fail\|replica .*: it belongs to another database/),
  ]);
});

test('pds check fails where PDS_DATABASE_URL names a replica', async () => {
  const { troubles } = await check(replica.url, replica.url);
  expect(troubles).toEqual([expect.stringMatching(/^fail\|database .*: it is a standby, which cannot be written to$/)]);
});

test('pds check fails where a password is wrong, or a replica is away', async () => {
  const wrong = new URL(primary.url);
  wrong.password = 'sesame';
  const refused = await runCheck({ PDS_DATABASE_URL: wrong.href }, { secrets: ['sesame'] });
  expect(refused.troubles).toEqual([
    expect.stringMatching(/^fail\|database .*: password authentication failed for user "pds"$/),
  ]);
  expect(refused.findings.at(-1)?.advice).toContain('set role and password in PDS_DATABASE_URL right');
  replica.freeze();
  expect((await check(replica.url)).troubles).toEqual([expect.stringMatching(/^fail\|replica .*: .*timeout/)]);
  replica.thaw();
  await replica.stop();
  expect((await check(replica.url)).troubles).toEqual([expect.stringMatching(/^fail\|replica .*ECONNREFUSED/)]);
});
