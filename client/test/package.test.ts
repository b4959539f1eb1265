import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { dataOf, idsOf } from '../../test/support/client.ts';
import { testWith } from '../../test/support/installed-programs.ts';
import { forAllTests } from '../../test/support/lifetimes.ts';
import { installPackedClient } from './support/installed-client.ts';
import { ROOT, run } from './support/programs.ts';
import { sampleServiceForAllTests } from './support/sample-service.ts';
import { TYPED_PROGRAM } from './support/typed-program.ts';

/** The first program in the README, written to the examples folder as first.ts. */
let firstOfReadme: string;

const service = sampleServiceForAllTests();
const installed = forAllTests(installPackedClient, 180_000);
beforeAll(() => {
  const readme = readFileSync(join(installed.source, 'README.md'), 'utf8');
  [, firstOfReadme = ''] = /```ts\n([^`]+)```/.exec(readme) ?? [];
  const first = firstOfReadme.replace('http://127.0.0.1:8080', service.url);
  writeFileSync(join(installed.project, 'examples', 'first.ts'), first);
});

/** Runs a program of the installed project against the service. */
function runOnService(file: string): Promise<string> {
  const env = { PARTNER_DATA_URL: service.url, PARTNER_DATA_KEY: service.partner('all').key };
  return run(process.execPath, [join('examples', file)], { cwd: installed.project, env });
}

describe('the package', () => {
  test('contains its code, types and documents, and depends on no other package', () => {
    const packages = join(installed.project, 'node_modules');
    const visible = readdirSync(packages).filter((name) => !name.startsWith('.'));
    expect(visible).toEqual(['partner-data-client']);
    const files = readdirSync(join(packages, 'partner-data-client'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(packages.length + '/partner-data-client/'.length));
    expect(files).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'dist/index.d.ts', 'dist/index.js', 'examples/sync.ts']),
    );
    expect(
      files.filter((file) => !/^(dist\/.*\.(js|d\.ts)|examples\/\w+\.ts|LICENSE|[A-Z]+\.md|package\.json)$/.test(file)),
    ).toEqual([]);
  });

  testWith('tools')('passes publint', async () => {
    expect(await run('publint', ['run', installed.source, '--strict'])).toContain('All good!');
  });

  test('brings the command partner-data-mirror', async () => {
    const command = join(installed.project, 'node_modules/.bin/partner-data-mirror');
    expect(await run(command, ['--help'], { cwd: installed.project })).toContain('PARTNER_DATA_KEY');
  });

  testWith('tools')('has types that every resolution of ES modules finds (attw)', async () => {
    // attw exits with an error if it finds a problem.
    const report = await run('attw', [installed.tarball, '--profile', 'esm-only', '--format', 'ascii']);
    expect(report).toContain('node16 (from ESM): 🟢 (ESM)');
    expect(report).toContain('bundler: 🟢');
  });

  test.each([
    ['for Node, including the examples', { module: 'nodenext', types: ['node'] }, ['program.ts', 'examples/*.ts']],
    [
      'for bundlers and browsers',
      { module: 'esnext', moduleResolution: 'bundler', lib: ['es2023', 'dom'], types: [] },
      ['program.ts'],
    ],
  ])('has types for strict programs %s', async (name, options, include) => {
    const { project } = installed;
    writeFileSync(join(project, 'program.ts'), TYPED_PROGRAM);
    const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
    // TypeScript's own declarations need no check.
    const cheap = { noEmit: true, skipDefaultLibCheck: true };
    const typeRoots = [join(ROOT, 'node_modules', '@types')];
    const config = join(project, `${name.replaceAll(/\W+/g, '-')}.json`);
    const compilerOptions = { target: 'es2023', lib: ['es2023'], typeRoots, ...strict, ...cheap, ...options };
    writeFileSync(config, JSON.stringify({ compilerOptions, include }));
    expect(await run('tsc', ['-p', config])).toBe('');
  });
});

describe('the examples', () => {
  test("the README's first example, five lines long, prints records", async () => {
    const isCode = (line: string): boolean => !line.startsWith('//');
    expect(firstOfReadme.trimEnd().split('\n').filter(isCode)).toHaveLength(5);
    const pages = await service.listAllPages('/v1/contracts?q=asphalt', service.partner('all').key, [25]);
    const records = dataOf(...pages);
    expect(records.length).toBeGreaterThan(1);
    const lines = records.map(({ id, name }) => `${id} ${String(name)}\n`);
    expect(await runOnService('first.ts')).toBe(lines.join(''));
  });

  test('list.ts prints a list', async () => {
    const lines = (await runOnService('list.ts')).trimEnd().split('\n');
    const response = await service.get('/v1/contracts?q=asphalt&limit=100', { key: service.partner('all').key });
    expect(lines.map((line) => line.split(' ')[0])).toEqual(idsOf(response));
  });

  test('count.ts prints a count and a solicitation', async () => {
    const { body } = await service.get('/v1/solicitations/count?status=open&q=services', {
      key: service.partner('all').key,
    });
    const { total } = JSON.parse(body) as { total: number };
    expect(total).toBeGreaterThan(0);
    const lines = (await runOnService('count.ts')).trimEnd().split('\n');
    expect(lines).toEqual([
      `${total} solicitations match`,
      expect.stringMatching(/: (takes bids|is over)$/),
      expect.stringMatching(/^\d+ documents, \d+ notices, \d+ questions$/),
    ]);
  });

  test('sync.ts updates a copy, and receives nothing the second time', async () => {
    expect(await runOnService('sync.ts')).toMatch(/^3278 changed; 3278 suppliers, as of \d{4}-.*Z\n$/);
    expect(await runOnService('sync.ts')).toMatch(/^0 changed; 3278 suppliers, as of \d{4}-.*Z\n$/);
  });

  test('errors.ts prints advice for each error', async () => {
    const lines = (await runOnService('errors.ts')).trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/^take it out of your copy: /),
      expect.stringMatching(/^correct the request: .*limit/),
      expect.stringMatching(/^look at the key: /),
    ]);
  });

  test('abort.ts aborts a listing, and continues it', async () => {
    expect(await runOnService('abort.ts')).toMatch(
      /^500 contracts before the abort: enough\nthe next one is ctr_\S+\n$/,
    );
  });
});

testWith('tools')('the types are up to date with docs/openapi.json (npm run client:types)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pds-client-types-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const generated = join(ROOT, 'client/src/generated');
  await run(process.execPath, ['tools/write-client-types.ts', folder]);
  expect(readdirSync(folder)).toEqual(readdirSync(generated));
  for (const name of readdirSync(folder)) {
    expect(readFileSync(join(folder, name), 'utf8')).toBe(readFileSync(join(generated, name), 'utf8'));
  }
});
