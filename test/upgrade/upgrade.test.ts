import { databaseUrlOf } from '../commands/run-pds.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { upgradeRolling } from './rolling-upgrade.ts';
import { VERSION_BEFORE } from './version-before.ts';

const workspace = forAllTests(() => new Workspace());
const made = forAllTests(createEmptyDatabase);

testWith('nginx', 'openssl')(
  `servers of version ${VERSION_BEFORE.version} work on the schema of this one, and make way for it, without one failed request`,
  async () => {
    await upgradeRolling(workspace, databaseUrlOf(made.config));
  },
  300_000,
);
