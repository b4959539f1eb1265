import { afterAll, beforeAll, test as plainTest } from 'vitest';
import { databaseUrlOf } from '../commands/run-pds.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { upgradeRolling } from './rolling-upgrade.ts';
import { upgradeStopped } from './stopped-upgrade.ts';
import { VERSION_BEFORE } from './version-before.ts';

const test = testWith('nginx', 'openssl');

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

/** Services of 1.3 notice changes by tables that version 2.0 no longer has. */
const isRolling = !VERSION_BEFORE.version.startsWith('1.');

(isRolling ? test : test.skip)(
  `servers of version ${VERSION_BEFORE.version} work on the schema of this one, and make way for it, without one failed request`,
  async () => {
    await upgradeRolling(workspace, databaseUrlOf(made.config));
  },
  300_000,
);

plainTest.skipIf(isRolling)(
  `after an upgrade from ${VERSION_BEFORE.version} watermarks, cursors and removals continue, and a service that still runs fails, but is never wrong`,
  async () => {
    await upgradeStopped(workspace.folder, made.config);
  },
  300_000,
);
