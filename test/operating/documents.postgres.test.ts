import { beforeAll, describe, expect } from 'vitest';
import { formatTimestamp } from '../../src/timestamp.ts';
import { blocksRunBy } from '../docs/command-blocks.ts';
import { ROLE, startPrimary, type PostgresPart } from '../support/cluster/postgres.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { findInstalledPrograms } from '../support/postgres/postgres-programs.ts';
import { DocumentShell } from './document-shell.ts';

const test = testWith('postgresql');
const RECOVERY = 'docs/operators/backup-and-recovery.md';

let primary: PostgresPart;
let shell: DocumentShell;

const workspace = forAllTests(() => new Workspace());
beforeAll(async () => {
  primary = await startPrimary(workspace);
  // The documents' commands create it.
  await primary.query(`drop database ${ROLE.database}`, [], 'postgres');
  shell = await DocumentShell.create(workspace, {
    PATH: `${findInstalledPrograms()}:${process.env['PATH'] ?? ''}`,
    ...{ PGHOST: '127.0.0.1', PGPORT: String(primary.port), PGUSER: 'postgres', PDS_DATABASE_URL: primary.url },
  });
});

/** Replaces the documents' server and password by the test's. */
const values = (): Record<string, string> => ({
  'pds:secret@127.0.0.1:5432': `${ROLE.name}:${ROLE.password}@127.0.0.1:${primary.port}`,
  'pds:…@127.0.0.1': `${ROLE.name}:${ROLE.password}@127.0.0.1:${primary.port}`,
  'pds@127.0.0.1:5432': `postgres@127.0.0.1:${primary.port}`,
});

describe('the commands in the documents for PostgreSQL', { timeout: 120_000 }, () => {
  test('create the schema of a new database, and serve it', async () => {
    await shell.serve('docs/operators/configure.md', 'createdb pds', undefined, values());
  });

  test('create the roles, and print how to set their passwords', async () => {
    const { output } = await shell.run('docs/operators/security.md', 'PDS_DATABASE_URL=postgres://pds@', values());
    for (const role of ['pds_reader', 'pds_writer']) expect(output).toContain(`in psql with "\\password ${role}"`);
  });

  test('dump the database, restore it as another one, and recover that', async () => {
    await shell.shell('npx pds partner create kept');
    const before = formatTimestamp(Date.now());
    await shell.run(RECOVERY, 'pg_dump');
    const recorded =
      "select value >= $1 and value ~ '^[-0-9]+T[0-9:]+[.][0-9]{3}Z$' as ok from access.settings where name = 'last_backup'";
    expect(await primary.query(recorded, [before])).toEqual([{ ok: true }]);
    const { output } = await shell.run(RECOVERY, 'createdb', values());
    expect(output).toContain('Recovered at ');
    expect(await primary.query('select name from access.partners', [], 'pds_restored')).toEqual([{ name: 'kept' }]);
  });

  test('export the import format from another database', async () => {
    await shell.shell('createdb purchasing');
    await primary.query('create table agencies (id int, name text)', [], 'purchasing');
    await primary.query('create table agreements (id int, title text, agency_id int)', [], 'purchasing');
    await primary.query("insert into agencies values (7, 'Parks & Recreation')", [], 'purchasing');
    await primary.query("insert into agreements values (1, 'Benches', 7)", [], 'purchasing');
    const { output } = await shell.run('docs/operators/converting.md', 'mkdir -p from-postgres', {}, 1);
    expect(output).toContain('1      0        0          0        contracts');
  });

  test('are not needed for an empty database, whose schema the first start creates', async () => {
    const url = values()['pds:…@127.0.0.1'] ?? '';
    await shell.shell('createdb --owner pds pds_empty');
    await shell.serveWith(`PDS_DATABASE_URL=postgres://${url}/pds_empty npx pds serve`);
  });
});

test('every block for PostgreSQL was run', () => {
  expect(shell.ran).toEqual(blocksRunBy('documents.postgres'));
});
