import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Outcome } from '../commands/run-pds.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { newFolder } from '../support/new-folder.ts';
import { contract, publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { serviceForAllTests } from '../support/service.ts';
import { CuttingServer, type CutEnd, type Fault } from './cutting-server.ts';
import { makeExampleProject } from './example-runner.ts';
import { listExamples, type Example } from './examples.ts';
import { PAGE_FILES, readText, ROOT } from './site.ts';

/** A program of a guide that sends requests. */
interface Program extends Example {
  readonly name: string;
  readonly file: string;
}

const SENDS = /PARTNER_DATA_|PartnerData\(|Bearer |partner-data-mirror/;
/** Blocks that only set variables, that npm runs, that do not end, or that postgresql-copy.postgres.test.ts runs. */
const OTHERS = /^export .*\nexport .*$|\bnp[mx] |--watch|\bpsql /;
/** Programs that keep a file can take a part for the whole. */
const KEEPS = /\bmv |rename\(|--sqlite|\.sqlite'|\.sqlite"/;
/** Errors are what they show. */
const SHOWS_ERRORS = 'client/examples/errors.ts';
const showsError = ({ output }: Example): boolean => output?.text.includes('"error"') === true;

const PROGRAMS: readonly Program[] = [
  // recipes.sqlite.test.ts runs those that send mail and write elsewhere.
  ...PAGE_FILES.filter((file) => !file.endsWith('/recipes.md')).flatMap((file) =>
    listExamples(readText(file))
      .filter((example) => SENDS.test(example.code) && !OTHERS.test(example.code) && !showsError(example))
      .map((example, index) => ({ ...example, file, name: `${file}-${index + 1}`.replaceAll(/[/.]/g, '-') })),
  ),
  ...(await readdir(new URL('client/examples/', ROOT)))
    .map((name) => `client/examples/${name}`)
    .filter((file) => file.endsWith('.ts') && file !== SHOWS_ERRORS)
    .map((file) => ({
      language: 'ts client',
      code: readText(file),
      output: null,
      file,
      name: file.replaceAll(/[/.]/g, '-'),
    })),
];

/** Positions at which a cut response could be taken for a whole one. */
const POSITIONS: Readonly<Record<string, (body: Buffer) => number>> = {
  'before its first byte': () => 0,
  'within its first record': (body) => Math.min(30, body.length - 1),
  'between two lines, or in the middle': (body) => {
    const line = body.indexOf('\n') + 1;
    return line > 0 && line < body.length ? line : Math.floor(body.length / 2);
  },
  'within its meta': (body) => Math.max(1, Math.min(body.lastIndexOf('"meta"') + 12, body.length - 2)),
  'at some byte': (body) => 1 + Math.floor(Math.random() * (body.length - 3)),
};

const cut = (end: CutEnd, position: string): [string, Fault] => [
  `a response that is ${end}, cut ${position}`,
  { end, cutAt: POSITIONS[position] ?? (() => 0) },
];

const STATUSES: [string, Fault, RegExp][] = [
  ['401', { status: 401, code: 'unauthorized' }, /\b401\b|unauthorized/i],
  ['429', { status: 429, code: 'rate_limited' }, /\b429\b|rate_limited/i],
  ['500', { status: 500, code: 'internal_error' }, /\b500\b|internal_error/i],
];

const CLOSED = cut('closed', 'at some byte');
/** curl alone shows what arrives, and a reader sees that it has no end. */
const SHOWN_CUTS = [CLOSED];
const PARSED_CUTS = [cut('complete', 'at some byte')];
const KEPT_CUTS = [
  ...PARSED_CUTS,
  CLOSED,
  cut('reset', 'between two lines, or in the middle'),
  cut('complete', 'before its first byte'),
  cut('complete', 'within its first record'),
  cut('complete', 'between two lines, or in the middle'),
  cut('complete', 'within its meta'),
];

const contracts = Array.from({ length: 120 }, (_, index) => ({ ...contract(`ctr_${index}`), name: 'Fire hose' }));
const partners = [{ name: 'all', everything: true }];
const service = serviceForAllTests({ catalog: { ...SMALL_CATALOG, contracts }, partners, clock: Date.now }, 120_000);
const project = forAllTests(makeExampleProject, 120_000);
const settings = await shortenWaits(newFolder());

/** Settings with which programs wait little between attempts, and the command of the mirror. */
async function shortenWaits(folder: string): Promise<Record<string, string>> {
  const files = {
    '.curlrc': 'retry-delay = 1\n',
    'sitecustomize.py': 'import time\nsleep = time.sleep\ntime.sleep = lambda seconds: sleep(seconds / 20)\n',
    'short-waits.mjs': `
      import timers from 'node:timers/promises';
      import { syncBuiltinESMExports } from 'node:module';
      const { setTimeout } = globalThis;
      const wait = timers.setTimeout;
      // Longer ones are time limits.
      const shorten = (ms) => (ms > 10_000 ? ms : ms / 20);
      globalThis.setTimeout = (action, ms, ...rest) => setTimeout(action, shorten(ms), ...rest);
      timers.setTimeout = (ms, ...rest) => wait(shorten(ms), ...rest);
      syncBuiltinESMExports();`,
    'partner-data-mirror': `#!/bin/sh\nexec ${process.execPath} ${new URL('client/src/mirror/main.ts', ROOT).pathname} "$@"\n`,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  await chmod(join(folder, 'partner-data-mirror'), 0o755);
  return {
    CURL_HOME: folder,
    PYTHONPATH: folder,
    NODE_OPTIONS: `--import ${join(folder, 'short-waits.mjs')}`,
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    // Debian's Python has Debian's pandas.
    PATH: `${folder}:/usr/bin:${process.env['PATH']}`,
  };
}

/** The files that a program keeps, without itself and those that it has begun. */
async function readKept(name: string): Promise<Record<string, string>> {
  const folder = join(project.directory, name);
  const files = (await readdir(folder)).filter(
    (file) => !/^example\.|^partner_data\.py$|\.mts$|\.new$|-lock$/.test(file),
  );
  const texts = files.map(async (file) => [file, await readFile(join(folder, file), 'latin1')] as const);
  return Object.fromEntries((await Promise.all(texts)).filter(([, text]) => !isEmptyDatabase(text)));
}

/** A program may make its tables before it requests anything. */
const isEmptyDatabase = (text: string): boolean => text.startsWith('SQLite format 3') && !text.includes('Fire hose');

describe.concurrent.each(PROGRAMS.map((program) => [program.name, program] as const))('%s', (name, program) => {
  const withoutPandas = program.language === 'python' ? 'python' : 'curl';
  const needed = program.code.includes('pandas') ? 'pandas' : withoutPandas;
  testWith(needed)(
    `(${program.language}) fails loudly, and leaves what it keeps as it was`,
    async ({ expect, onTestFinished }) => {
      const server = await CuttingServer.start(service.url);
      onTestFinished(() => server.close());
      const environment = { PARTNER_DATA_URL: server.url, PARTNER_DATA_KEY: service.partner('all').key };
      const run = () => project.run(program, { ...settings, ...environment }, 1, name);
      const fails = async (what: string, fault: Fault | null): Promise<Outcome> => {
        server.fault = fault;
        server.requests = 0;
        await mkdir(join(project.directory, name), { recursive: true });
        const before = await readKept(name);
        const ran = await run();
        expect(ran.code, `${what}, byte ${server.lastCut}\n${ran.stdout}${ran.stderr}`).toSatisfy(
          (code) => code !== null && code !== 0,
        );
        expect(ran.stderr.trim(), what).not.toBe('');
        expect(await readKept(name), what).toEqual(before);
        return ran;
      };
      const succeeds = async (): Promise<void> => {
        server.fault = null;
        const { code, stdout, stderr } = await run();
        expect(code, stdout + stderr).toBe(0);
      };
      const keepsFiles = KEEPS.test(program.code);
      if (keepsFiles) {
        await fails(...CLOSED);
        await succeeds();
        await publishLines(service.database, {
          contracts: [{ id: `ctr_${PROGRAMS.indexOf(program)}`, deleted: true }],
        });
        await service.noticeChanges();
      }
      const printedCuts = program.language === 'sh' ? SHOWN_CUTS : PARSED_CUTS;
      const cuts = keepsFiles ? KEPT_CUTS : printedCuts;
      for (const [what, fault] of cuts) await fails(what, fault);
      // The client's own tests have all errors; a program of the guides must not hide one.
      const usesClient = program.code.includes('partner-data-client') && !keepsFiles;
      for (const [what, fault, message] of usesClient ? STATUSES.slice(0, 1) : STATUSES) {
        const { stdout, stderr } = await fails(what, fault);
        expect(stdout + stderr, what).toMatch(message);
        if (what === '401') expect(server.requests, 'attempts with a refused key').toBe(1);
      }
      await server.close();
      await fails('a service that is down', null);
      await server.open();
      if (!keepsFiles) return;
      const before = await readKept(name);
      await succeeds();
      expect(await readKept(name)).not.toEqual(before);
    },
    240_000,
  );
});

test('programs of every guide and language are tested', () => {
  const languages = (file: string) =>
    PROGRAMS.filter((program) => program.file === file).map(({ language }) => language);
  expect(languages('docs/partner-guide/syncing.md')).toEqual(['sh', 'ts', 'ts client', 'python']);
  expect(languages('docs/partner-guide/loading.md')).toEqual(['sh', 'python']);
  expect(languages('client/MIRROR.md')).toEqual(['sh']);
  expect(PROGRAMS.filter(({ code }) => KEEPS.test(code)).map(({ file }) => file)).toEqual([
    'docs/partner-guide/loading.md',
    'docs/partner-guide/paging.md',
    'docs/partner-guide/streams.md',
    ...Array.from({ length: 4 }, () => 'docs/partner-guide/syncing.md'),
    'client/MIRROR.md',
    'client/examples/sync.ts',
  ]);
  expect(PROGRAMS.length).toBeGreaterThan(30);
});
