import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run, runNpm } from '../../client/test/support/programs.ts';
import { startSampleService } from '../../client/test/support/sample-service.ts';
import manifest from '../../client/package.json' with { type: 'json' };
import { testWith } from '../support/installed-programs.ts';
import type { TestService } from '../support/service.ts';
import { PAGES, readText } from './site.ts';

const PACKAGE = `/docs/partner-data-client-${manifest.version}.tgz`;

let service: TestService;
let project: string;

beforeAll(async () => {
  service = await startSampleService();
  project = mkdtempSync(join(tmpdir(), 'pds-client-of-service-'));
}, 60_000);
afterAll(async () => {
  rmSync(project, { recursive: true, force: true });
  await service.close();
});

test("the client's README runs in a new project that installs the client from the service", async () => {
  await runNpm(['init', '-y'], project);
  await runNpm(['install', `${service.url}${PACKAGE}`], project);
  const readme = readText('client/README.md');
  const [, snippet = ''] = /```ts\n([^`]+)```/.exec(readme) ?? [];
  writeFileSync(join(project, 'first.mts'), snippet.replace('http://127.0.0.1:8080', service.url));
  const env = { PARTNER_DATA_KEY: service.partner('all').key };
  expect(await run(process.execPath, ['first.mts'], { cwd: project, env })).toMatch(/^ctr_\S+ .*asphalt/im);
}, 60_000);

testWith('python')(
  "the mirror's page copies with the program that the service hands out, and makes CSV of the copy",
  async () => {
    const guide = readText('client/MIRROR.md');
    const [, command = ''] = /```sh\n([^`]+)```/.exec(guide) ?? [];
    expect(command).toContain('npx --package ');
    const key = service.partner('all').key;
    const translated = command.replace('http://127.0.0.1:8080', service.url).replace('<your key>', key);
    const env = {
      npm_config_yes: 'true',
      npm_config_cache: join(project, 'npm-cache'),
      npm_config_update_notifier: 'false',
    };
    await run('bash', ['-euc', translated], { cwd: project, env });
    const [, program = ''] = /```python\n([^`]+)```/.exec(guide) ?? [];
    await run('python3', ['-c', program], { cwd: project });
    const [header, ...rows] = readFileSync(join(project, 'solicitations.csv'), 'utf8').trim().split('\r\n');
    expect(header).toBe('reference_number,title,status,close_at');
    const open = await service.get('/v1/solicitations/count?status=open', { key });
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.length).toBeLessThanOrEqual((JSON.parse(open.body) as { total: number }).total);
  },
  60_000,
);

test('the portal shows the integrity that npm records, in a block to copy', async () => {
  const response = await fetch(`${service.url}${PACKAGE}`);
  const integrity = `sha512-${hash('sha512', Buffer.from(await response.arrayBuffer()), 'base64')}`;
  for (const path of ['/docs/guides/first-request', '/docs/guides/client'])
    expect(PAGES.get(path)).toContain(`data-code="${integrity}"`);
  expect(readFileSync(join(project, 'package-lock.json'), 'utf8')).toContain(integrity);
});

/** A command that installs or runs a package of this project, up to the end of the line or code span. */
const INSTALLATION =
  /(?:\b(?:npx|bunx|npm(?: \S+)?|pnpm \w+|yarn \w+|bun \w+|deno \w+)\s(?:[^`\n]*\s)?|\bnpm:)['"]?(?:@?[\w.-]+\/)?partner-data-(?:client|mirror|service|portal)\b[^`\n]*/g;

const TARBALL = new RegExp(` (?:\\S+)?${RegExp.escape(PACKAGE)}(?= |$)`);

/** Installations that a registry would answer, with a package of anyone who registers the name. */
function fromRegistry(text: string): string[] {
  const commands = [...text.matchAll(INSTALLATION)].map(([command]) => command);
  return commands.filter((command) => !TARBALL.test(command));
}

test('no document, example or help text takes a package of ours from a registry', async () => {
  const listed = await run('git', ['ls-files', '*.md', '*.ts', '*.js', '*.astro', '*.json', '*.yaml', 'ops', '.ci']);
  const files = listed.split('\n').filter((file) => file !== '' && !/lock\.json$|^test\//.test(file));
  expect(files).toEqual(
    expect.arrayContaining(['README.md', 'client/src/mirror/options.ts', 'client/examples/sync.ts']),
  );
  const found = files.flatMap((file) => fromRegistry(readText(file)).map((command) => `${file}: ${command}`));
  expect(found).toEqual([]);
  for (const html of PAGES.values()) expect(fromRegistry(html)).toEqual([]);
  const tarballs = files.flatMap((file) => readText(file).match(/\/docs\/partner-data-client-[\w.]+\.tgz/g) ?? []);
  expect(new Set(tarballs)).toEqual(new Set([PACKAGE]));
});

test.each([
  'npx --package partner-data-client partner-data-mirror --sqlite copy.sqlite',
  'npx partner-data-mirror --sqlite copy.sqlite',
  'npm install partner-data-client',
  'npm i --save partner-data-client@1.0.0',
  'deno add npm:partner-data-client',
  "import { createClient } from 'npm:partner-data-client';",
])('a document would not pass that says: %s', (command) => {
  expect(fromRegistry(`Run \`${command}\`.`)).toHaveLength(1);
});
