import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, run, runNpm } from '../../client/test/support/programs.ts';
import { startSampleService } from '../../client/test/support/sample-service.ts';
import manifest from '../../client/package.json' with { type: 'json' };
import assistants from '../../mcp/package.json' with { type: 'json' };
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { newFolder } from '../support/new-folder.ts';
import { PAGES, readText } from './site.ts';

const PACKAGE = `/docs/partner-data-client-${manifest.version}.tgz`;
const ASSISTANTS = `/docs/partner-data-mcp-${assistants.version}.tgz`;

const project = newFolder();

const service = forAllTests(startSampleService);

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
  const integrityOf = async (path: string): Promise<string> => {
    const response = await fetch(`${service.url}${path}`);
    return `sha512-${hash('sha512', Buffer.from(await response.arrayBuffer()), 'base64')}`;
  };
  const integrity = await integrityOf(PACKAGE);
  for (const path of ['/docs/guides/first-request', '/docs/guides/client'])
    expect(PAGES.get(path)).toContain(`data-code="${integrity}"`);
  expect(readFileSync(join(project, 'package-lock.json'), 'utf8')).toContain(integrity);
  expect(PAGES.get('/docs/guides/assistants')).toContain(`data-code="${await integrityOf(ASSISTANTS)}"`);
});

testWith('mcp')(
  'the server for assistants that the service hands out starts, with the packages that it names',
  async () => {
    const folder = newFolder();
    const tarball = join(folder, 'package.tgz');
    writeFileSync(tarball, Buffer.from(await (await fetch(`${service.url}${ASSISTANTS}`)).arrayBuffer()));
    await run('tar', ['xf', tarball, '-C', folder]);
    const files = readdirSync(join(folder, 'package'), { recursive: true, encoding: 'utf8' });
    expect(files.sort()).toEqual(['LICENSE', 'README.md', 'dist', 'dist/main.js', 'package.json']);
    mkdirSync(join(folder, 'node_modules'));
    for (const name of Object.keys(assistants.dependencies)) {
      const link = join(folder, 'node_modules', name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(ROOT, 'mcp/node_modules', name), link);
    }
    const env = { PARTNER_DATA_URL: service.url, PARTNER_DATA_KEY: service.partner('all').key };
    const main = join(folder, 'package/dist/main.js');
    expect(await run(process.execPath, [main, '--version'])).toBe(`${assistants.version}\n`);
    const server = spawn(process.execPath, [main], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    const exited = once(server, 'exit');
    const clientInfo = { name: 'test', version: '1.0.0' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    const [answer] = (await once(server.stdout.setEncoding('utf8'), 'data')) as [string];
    expect(JSON.parse(answer)).toMatchObject({ id: 1, result: { serverInfo: { name: 'partner-data-mcp' } } });
    // An assistant that ends closes the input.
    server.stdin.end();
    expect(await exited).toEqual([0, null]);
  },
);

/** A command that installs or runs a package of this project, up to the end of the line or code span. */
const INSTALLATION =
  /(?:\b(?:npx|bunx|npm(?: \S+)?|pnpm \w+|yarn \w+|bun \w+|deno \w+)\s(?:[^`\n]*\s)?|\bnpm:)['"]?(?:@?[\w.-]+\/)?partner-data-(?:client|mcp|mirror|service|portal)\b[^`\n]*/g;

const TARBALL = new RegExp(` (?:\\S+)?(?:${[PACKAGE, ASSISTANTS].map(RegExp.escape).join('|')})(?= |$)`);

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
  const tarballs = files.flatMap(
    (file) => readText(file).match(/\/docs\/partner-data-(?:client|mcp)-[\w.]+\.tgz/g) ?? [],
  );
  expect(new Set(tarballs)).toEqual(new Set([PACKAGE, ASSISTANTS]));
});

test.each([
  'npx --package partner-data-client partner-data-mirror --sqlite copy.sqlite',
  'npx partner-data-mirror --sqlite copy.sqlite',
  'npm install partner-data-client',
  'claude mcp add partner-data -- npx -y partner-data-mcp',
  'npm i --save partner-data-client@1.0.0',
  'deno add npm:partner-data-client',
  "import { createClient } from 'npm:partner-data-client';",
])('a document would not pass that says: %s', (command) => {
  expect(fromRegistry(`Run \`${command}\`.`)).toHaveLength(1);
});
