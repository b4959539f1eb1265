import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { forAllTests } from '../../../test/support/lifetimes.ts';
import { installPackedClient } from '../support/installed-client.ts';
import { run, runNpm } from '../support/programs.ts';
import { TYPED_PROGRAM } from '../support/typed-program.ts';

/** The oldest version that the client's README supports. */
const OLDEST = '4.9.5';

const installed = forAllTests(installPackedClient, 300_000);
beforeAll(() => writeFileSync(join(installed.project, 'program.ts'), TYPED_PROGRAM));

/** Type-checks the program in strict mode, including the client's declarations. */
async function check(tsc: string, module: string, moduleResolution: string, more: object = {}): Promise<string> {
  const compilerOptions = {
    ...{ module, moduleResolution, target: 'es2022', lib: ['es2022', 'dom'], types: [] },
    ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    // TypeScript's own declarations need no check.
    ...{ noEmit: true, skipDefaultLibCheck: true },
    ...more,
  };
  const config = join(installed.project, `${module}-${moduleResolution}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions, include: ['program.ts'] }));
  return run(tsc, ['-p', config], { cwd: installed.project });
}

test(
  `the package has types for strict programs in TypeScript ${OLDEST} in every module mode`,
  // Allows for downloading the compiler.
  { timeout: 300_000, retry: 2 },
  async () => {
    const folder = join(installed.project, 'oldest');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    await runNpm(['install', '--no-save', '--ignore-scripts', '--prefer-offline', `typescript@${OLDEST}`], folder);
    const tsc = join(folder, 'node_modules/.bin/tsc');
    expect(await run(tsc, ['--version'])).toBe(`Version ${OLDEST}\n`);
    expect(await check(tsc, 'node16', 'node16')).toBe('');
    expect(await check(tsc, 'esnext', 'node')).toBe('');
    expect(await check(tsc, 'commonjs', 'node')).toBe('');
  },
);

test('the package has types with moduleResolution node in the newest TypeScript', async () => {
  expect(await check('tsc', 'esnext', 'node10', { ignoreDeprecations: '6.0' })).toBe('');
});
