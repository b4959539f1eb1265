import { afterAll, beforeAll } from 'vitest';
import { databaseUrlOf } from '../commands/run-pds.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { upgradeRolling } from './rolling-upgrade.ts';
import { VERSION_BEFORE } from './version-before.ts';

let workspace: Workspace;
let made: TestDatabase;
beforeAll(async () => {
  workspace = new Workspace();
  made = await createEmptyDatabase();
});
afterAll(async () => {
  await workspace.close();
  await made.drop();
});

testWith('nginx', 'openssl')(
  `servers of version ${VERSION_BEFORE.version} work on the schema of this one, and make way for it, without one failed request`,
  async () => {
    await upgradeRolling(workspace, databaseUrlOf(made.config));
  },
  300_000,
);
