import { afterAll, beforeAll, describe, expect } from 'vitest';
import { blocksToRun } from '../docs/command-blocks.ts';
import { ROLE, startPrimary, type PostgresPart } from '../support/cluster/postgres.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { findInstalledPrograms } from '../support/postgres-programs.ts';
import { DocumentShell, expectSample } from './document-shell.ts';

const test = testWith('postgresql');
const OPERATORS = 'docs/operators.md';
const RECOVERY = 'docs/recovery.md';

let workspace: Workspace;
let primary: PostgresPart;
let shell: DocumentShell;

beforeAll(async () => {
  workspace = new Workspace();
  primary = await startPrimary(workspace);
  // The documents' commands create it.
  await primary.query(`drop database ${ROLE.database}`, [], 'postgres');
  shell = await DocumentShell.create(workspace, {
    PATH: `${findInstalledPrograms()}:${process.env['PATH'] ?? ''}`,
    ...{ PGHOST: '127.0.0.1', PGPORT: String(primary.port), PGUSER: 'postgres', PDS_DATABASE_URL: primary.url },
  });
});
afterAll(() => workspace.close());

/** Replaces the documents' server and password by the test's. */
const values = (): Record<string, string> => ({
  'pds:secret@127.0.0.1:5432': `${ROLE.name}:${ROLE.password}@127.0.0.1:${primary.port}`,
  'pds:…@127.0.0.1': `${ROLE.name}:${ROLE.password}@127.0.0.1:${primary.port}`,
  'pds@127.0.0.1:5432': `postgres@127.0.0.1:${primary.port}`,
});

describe('the commands in the documents for PostgreSQL, as they are written', { timeout: 120_000 }, () => {
  test('make the schema of a new database, and serve it', async () => {
    await shell.serve(OPERATORS, 'createdb pds', undefined, values());
  });

  test('make the roles, with the messages that are shown', async () => {
    const { output, samples } = await shell.run(OPERATORS, 'PDS_DATABASE_URL=postgres://pds@', values());
    expectSample(output, samples[0]);
  });

  test('dump the database, restore it as another, and recover that', async () => {
    await shell.shell('npx pds partner create kept');
    await shell.run(RECOVERY, 'pg_dump');
    const { output } = await shell.run(RECOVERY, 'createdb', values());
    expect(output).toContain('Recovered at ');
    expect(await primary.query('select name from access.partners', [], 'pds_restored')).toEqual([{ name: 'kept' }]);
  });

  test('are not needed for an empty database, whose schema the first start makes', async () => {
    const url = values()['pds:…@127.0.0.1'] ?? '';
    await shell.shell('createdb --owner pds pds_empty');
    await shell.serveWith(`PDS_DATABASE_URL=postgres://${url}/pds_empty npx pds serve`);
  });
});

test('every block that needs PostgreSQL was run', () => {
  const expected = blocksToRun().filter((block) => /createdb|pg_dump|pds roles/.test(block));
  expect(shell.ran.sort()).toEqual(expected.sort());
});
