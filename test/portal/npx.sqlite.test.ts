import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, run } from '../../client/test/support/programs.ts';
import manifest from '../../package.json' with { type: 'json' };
import { newFolder } from '../support/new-folder.ts';
import { npmSettings } from '../support/npm-settings.ts';

// npm links the project into its cache at the first "npx pds", which runs the project's `prepare`, and shows no output of it.
test('the first "npx pds" in a clone does not build the site again', { timeout: 120_000 }, async () => {
  const builtAt = statSync(join(ROOT, 'portal/dist/404.html')).mtimeMs;
  const env = { ...npmSettings(), npm_config_cache: newFolder() };
  expect(await run('npx', ['--offline', 'pds', '--version'], { env })).toBe(`${manifest.version}\n`);
  expect(statSync(join(ROOT, 'portal/dist/404.html')).mtimeMs).toBe(builtAt);
});
