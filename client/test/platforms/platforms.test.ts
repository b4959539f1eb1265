import { cpSync, existsSync, globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { launchBrowser, recordPage } from '../../../test/support/browser/browser.ts';
import { dataOf } from '../../../test/support/client.ts';
import { testWith } from '../../../test/support/installed-programs.ts';
import { forAllTests } from '../../../test/support/lifetimes.ts';
import { newFolder } from '../../../test/support/new-folder.ts';
import { installPackedClient } from '../support/installed-client.ts';
import { run, runNpm } from '../support/programs.ts';
import { sampleServiceForAllTests } from '../support/sample-service.ts';
import { startOrigin } from './origin.ts';

/**
 * Other platforms are installed from npm into a separate folder: in this project's lock file, they would add binaries
 * for every system. Their install scripts do not run. Node 20.0.0 is the oldest supported version, 22.13.0 the oldest
 * for SQLite copies; npm has these for Linux only.
 */
const HAS_OLD_NODES = process.platform === 'linux';
const OLD_NODES = ['20.0.0', '22.13.0'].map((version) => `node-${version}@npm:node-linux-${process.arch}@${version}`);
const PLATFORMS = ['deno@2.9.6', 'bun@1.4.5', ...(HAS_OLD_NODES ? OLD_NODES : [])];

/** A failed installation is retried as a whole; packages downloaded before come from the npm cache. */
const DOWNLOAD_ATTEMPTS = 3;
/** For 510 MB, which take seconds to minutes. Per attempt, so that one stalled connection does not use up them all. */
const ATTEMPT_MS = 4 * 60_000;
const DOWNLOAD_OPTIONS = ['--prefer-offline', '--fetch-retries=5', '--ignore-scripts'];

let key: string;

const platforms = newFolder();
const service = sampleServiceForAllTests();
const installed = forAllTests(installPackedClient, 180_000);
const origin = forAllTests(() =>
  startOrigin(service.url, join(installed.project, 'node_modules/partner-data-client/dist')),
);
beforeAll(
  async () => {
    writeFileSync(join(platforms, 'package.json'), '{"private":true}');
    for (const file of ['smoke.js', 'run.js'])
      cpSync(fileURLToPath(new URL(file, import.meta.url)), join(installed.project, file));
    ({ key } = service.partner('all'));
    await downloadPlatforms();
  },
  DOWNLOAD_ATTEMPTS * ATTEMPT_MS + 60_000,
);

async function downloadPlatforms(): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await runNpm(['install', '--no-save', ...DOWNLOAD_OPTIONS, ...PLATFORMS], platforms, ATTEMPT_MS);
      return;
    } catch (error) {
      if (attempt === DOWNLOAD_ATTEMPTS) throw error;
    }
  }
}

/** Asserts the outcome of `smoke`, which is the same on every platform. */
async function expectEverything(outcome: unknown): Promise<void> {
  const pages = await service.listAllPages('/v1/lead-entities', key, [30]);
  const watermark = pages[0]?.headers['x-sync-watermark'];
  const next = '/v1/lead-entities?limit=30&cursor=…';
  const paths = ['/v1/lead-entities?limit=30', next, next];

  const ours = (name: string): unknown[] => [name, true, false];
  const count = await service.get('/v1/solicitations/count?closing_after=2026-04-15T09:00:00Z', { key });
  expect(outcome).toEqual({
    listed: paths.map((path) => `200 ${path}`),
    listedAgain: paths.map((path) => `304 ${path}`),
    leadEntities: [30, 30, 11].map((length) => [length, 30, watermark, 1_000_000]),
    names: dataOf(...pages).map(({ name }) => name),
    detail: true,
    count: (JSON.parse(count.body) as { total: number }).total,
    health: { status: 'ok' },
    notFound: ours('NotFoundError'),
    unauthorized: ours('UnauthorizedError'),
    busyOnce: 7,
    half: ours('ConnectionError'),
    dropped: ours('ConnectionError'),
    page: ours('UnexpectedAnswerError'),
    redirect: ours('UnexpectedAnswerError'),
    slow: ours('TimeoutError'),
    aborted: ours('AbortedError'),
  });
}

/** Runs `run.js` with a platform's binary. */
async function runOn(binary: string | undefined, ...args: string[]): Promise<void> {
  if (binary === undefined || !existsSync(binary)) throw new Error(`no binary came in ${PLATFORMS.join(', ')}`);
  const env = { ORIGIN: origin.url, API_KEY: key, DENO_NO_UPDATE_CHECK: '1', DENO_DIR: platforms, DO_NOT_TRACK: '1' };
  const output = await run(binary, [...args, 'run.js'], { cwd: installed.project, env });
  await expectEverything(JSON.parse(output));
}

/** Finds a platform's binary in the package that npm installed for this system. */
function findBinary(pattern: string): string | undefined {
  const [found] = globSync(pattern, { cwd: join(platforms, 'node_modules') });
  return found === undefined ? undefined : join(platforms, 'node_modules', found);
}

test('the package works in the newest Node', () => runOn(process.execPath));

test.skipIf(!HAS_OLD_NODES)('the package works in Node 20.0.0', () => runOn(findBinary('node-20.0.0/bin/node')));

test.skipIf(!HAS_OLD_NODES).each([
  ['NDJSON', '20.0.0', '--ndjson'],
  ['SQLite', '22.13.0', '--sqlite'],
])('the mirror maintains a copy in %s in Node %s', async (_store, version, option) => {
  const copy = join(platforms, `copy-${version}`);
  const env = { PARTNER_DATA_URL: service.url, PARTNER_DATA_KEY: key };
  const main = join(installed.project, 'node_modules/partner-data-client/dist/mirror/main.js');
  for (const added of [71, 0]) {
    const args = [main, option, copy, '--reconcile', '--json'];
    const output = await run(findBinary(`node-${version}/bin/node`) ?? '', args, { env });
    expect(JSON.parse(output)).toMatchObject({ ok: true, kinds: { 'lead-entities': { held: 71, added, removed: 0 } } });
  }
});

test.skipIf(!HAS_OLD_NODES).each(['20.0.0', '22.13.0'])(
  'the service, which Node %s cannot run, says which version it needs',
  async (version) => {
    await expect(run(findBinary(`node-${version}/bin/node`) ?? '', ['src/main.js', 'check'])).rejects.toMatchObject({
      cause: expect.stringContaining(`error: pds needs Node 24 or newer, and this is v${version}.`) as string,
    });
  },
);

test('the package works in Deno with access to network and environment only', () =>
  runOn(findBinary('@deno/*/deno'), 'run', '--no-prompt', '--no-lock', '--no-remote', '--allow-net', '--allow-env'));

test('the package works in Bun', () => runOn(findBinary('@oven/*/bin/bun'), 'run'));

testWith('chromium')('the package works in Chromium, on pages of the same origin', async () => {
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const { origins } = recordPage(page);
    await page.goto(origin.url);
    // A string, so that Vitest does not transform the page's `import`.
    const outcome = await page.evaluate(`(async () => {
      const { smoke } = await import('/smoke.js');
      const client = await import('/package/index.js');
      return smoke(client, ${JSON.stringify({ origin: origin.url, apiKey: key })});
    })()`);
    await expectEverything(outcome);
    expect(origins).toEqual(new Set([origin.url]));
  } finally {
    await browser.close();
  }
});
