import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { ROOT } from '../../scripts/read-dependencies.ts';
import { newFolder } from '../../test/support/new-folder.ts';

const INSTALL_ATTEMPTS = 3;
const INSTALL_TIMEOUT_MS = 300_000;
const PROGRAM_TIMEOUT_MS = 120_000;

/** Generators' names for schemas and responses without a name. */
const MADE_UP_NAME = /\b[A-Za-z_$][\w$]*?(?:200|Inner)[\w$]*/g;

const COMPILER_OPTIONS = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
};

/** Without this option, orval names types after statuses whatever the document says: `listContractsResponse200`. */
const ORVAL_OUTPUT = { client: 'fetch', override: { fetch: { includeHttpResponseReturnType: false } } };

let folder: string;

/**
 * Runs a program in the temporary folder.
 *
 * @throws Error with its output if it fails.
 */
function run(program: string, words: readonly string[], timeoutMs: number): void {
  const { status, error, stdout, stderr } = spawnSync(program, words, {
    cwd: folder,
    encoding: 'utf8',
    timeout: timeoutMs,
    env: { ...process.env, PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} ${words.join(' ')}\n${stdout}${stderr}`);
}

// The generators take 200 MB, and one needs an older TypeScript.
beforeAll(() => {
  folder = newFolder();
  cpSync(join(ROOT, 'tools/openapi-clients'), folder, { recursive: true });
  cpSync(join(ROOT, '.npmrc'), join(folder, '.npmrc'));
  for (let attempt = 1; ; attempt += 1) {
    try {
      run('npm', ['ci', '--ignore-scripts'], INSTALL_TIMEOUT_MS);
      return;
    } catch (error) {
      if (attempt === INSTALL_ATTEMPTS) throw error;
    }
  }
}, INSTALL_ATTEMPTS * INSTALL_TIMEOUT_MS);

test.each(['openapi.json', 'openapi-3.0.json'])(
  '%s gives the four most used generators for TypeScript clients that compile strictly, without a name that they made up',
  (document) => {
    const source = join(ROOT, 'docs', document);
    const clients = join(folder, document.replace('.json', ''));
    mkdirSync(clients);
    const generate = (name: string, words: readonly string[]): void => {
      run(join(folder, 'node_modules/.bin', name), words, PROGRAM_TIMEOUT_MS);
    };
    generate('openapi-typescript', [source, '--output', join(clients, 'openapi-typescript.ts')]);
    const orval = { input: source, output: { ...ORVAL_OUTPUT, target: join(clients, 'orval.ts') } };
    writeFileSync(join(clients, 'orval.config.mjs'), `export default ${JSON.stringify({ client: orval })};`);
    generate('orval', ['--config', join(clients, 'orval.config.mjs')]);
    const name = 'swagger-typescript-api.ts';
    generate('swagger-typescript-api', ['generate', '--path', source, '--output', clients, '--name', name]);
    generate('oazapfts', [source, join(clients, 'oazapfts.ts')]);

    writeFileSync(join(clients, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS }));
    run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', clients], PROGRAM_TIMEOUT_MS);
    const files = readdirSync(clients).filter((entry) => entry.endsWith('.ts'));
    expect(files).toHaveLength(4);
    for (const file of files)
      expect(readFileSync(join(clients, file), 'utf8').match(MADE_UP_NAME) ?? [], file).toEqual([]);
  },
  5 * PROGRAM_TIMEOUT_MS,
);
