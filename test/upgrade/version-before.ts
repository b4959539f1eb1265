import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The version whose servers must work on this version's schema, since upgrades begin with the schema. After a release,
 * put its commit here: `git rev-parse <the commit that changed "version" in package.json to it, or a later one of the
 * same version>`.
 */
export const VERSION_BEFORE = { version: '2.2.3', commit: 'd30ad16459bc6636a9f2e10c1efda830a7dbc4c3' };

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Extracts a version, by default that one, from git, with the dependencies installed here.
 *
 * @returns its command, as `src/main.js` is this version's.
 * @throws Error if this clone does not contain it.
 */
export function takeOutVersionBefore(folder: string, { version, commit } = VERSION_BEFORE): string {
  const tree = join(folder, version);
  mkdirSync(tree, { recursive: true });
  let archive: Buffer;
  try {
    archive = execFileSync('git', ['archive', commit], {
      cwd: REPOSITORY,
      maxBuffer: 1 << 30,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch (error) {
    throw new Error(
      `version ${version} (commit ${commit}) cannot be taken out of this clone; ` +
        'where its history was cut off, "git fetch --unshallow" brings it',
      { cause: error },
    );
  }
  execFileSync('tar', ['-x', '-C', tree], { input: archive });
  symlinkSync(join(REPOSITORY, 'node_modules'), join(tree, 'node_modules'));
  return join(tree, 'src', 'main.js');
}
