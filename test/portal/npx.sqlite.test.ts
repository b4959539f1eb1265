import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { newFolder } from '../support/new-folder.ts';
import { npmSettings } from '../support/npm-settings.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

// npm links the project into its cache at the first "npx pds", which runs the project's `prepare`, and shows no output of it.
test('the first "npx pds" in a clone does not build the site again', { timeout: 120_000 }, async () => {
  const cache = newFolder();
  const builtAt = statSync(join(ROOT, 'portal/dist/404.html')).mtimeMs;
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...npmSettings(), npm_config_cache: cache };
  const { stdout } = await promisify(execFile)('npx', ['--offline', 'pds', '--version'], { cwd: ROOT, env });
  expect(stdout).toBe(`${manifest.version}\n`);
  expect(statSync(join(ROOT, 'portal/dist/404.html')).mtimeMs).toBe(builtAt);
});
