import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readOptions } from '../../client/src/mirror/options.ts';
import manifest from '../../package.json' with { type: 'json' };
import portal from '../../portal/package.json' with { type: 'json' };
import { withCurrentTable } from '../../scripts/write-settings.ts';
import { readConfig } from '../../src/config.ts';
import { REMOVED_SETTINGS, SETTINGS, type Setting } from '../../src/settings.ts';
import { COMMAND_BLOCKS, DOCUMENTS_WITH_COMMANDS } from './command-blocks.ts';
import { DOCUMENTS, readCodeSpans, readCommandBlocks, readDocument, ROOT } from './documents.ts';
import { findPdsCommands, findProblem, listOptions } from './pds-arguments.ts';

/** Words that are files of the project. */
const OWN_FILE =
  /^(?:src|test|ops|docs|bench|scripts|client|migrations|sample|node_modules)\/[\w./-]+\w$|^[\w-]+\/[\w./-]+\.test\.ts$|^sample$/;

/** The settings, and the variables that name files with their values. */
const VARIABLES = Object.entries<Setting>(SETTINGS).flatMap(([name, { isSecret }]) =>
  isSecret === true ? [name, `${name}_FILE`] : [name],
);

/** Names what each version removed. */
const UPGRADING = 'docs/operators/upgrading.md';

/** Options of other programs that the operators' guide names. */
const OTHER_OPTIONS = new Set(['--help', '--inspect']);

/** The changelog names what earlier versions had. */
const CURRENT_DOCUMENTS = DOCUMENTS.filter((file) => file !== 'CHANGELOG.md');

test.each([...new Set([...DOCUMENTS_WITH_COMMANDS, ...Object.keys(COMMAND_BLOCKS)])])(
  'every block of commands in %s is run, or has a reason not to be',
  (file) => {
    const starts = readCommandBlocks(file).map((text) => text.split('\n')[0]);
    expect(starts.sort()).toEqual(Object.keys(COMMAND_BLOCKS[file] ?? {}).sort());
  },
);

describe.each(CURRENT_DOCUMENTS)('%s', (file) => {
  const code = [...readCommandBlocks(file), ...readCodeSpans(file)];
  const words = code.flatMap((text) => text.split(/[\s'"]+/));

  test('names commands of pds with options that exist', () => {
    const problems = code.flatMap(findPdsCommands).map(findProblem);
    expect(problems.filter((problem) => problem !== null)).toEqual([]);
  });

  test('names scripts of npm that exist', () => {
    const scripts = code.flatMap((text) => [...text.matchAll(/\bnpm run (?<script>[\w:]+)(?<inPortal> -w portal)?/g)]);
    for (const { groups } of scripts) {
      const { scripts } = groups?.['inPortal'] === undefined ? manifest : portal;
      expect(Object.keys(scripts)).toContain(groups?.['script']);
    }
  });

  test('names settings of the service that exist, with values that it accepts', () => {
    const names = readDocument(file).match(/\bPDS_[A-Z_]+(?<!_)/g) ?? [];
    const removed = file === UPGRADING ? Object.keys(REMOVED_SETTINGS) : [];
    for (const name of names) expect([...VARIABLES, ...removed]).toContain(name);
    const set = readCommandBlocks(file).flatMap((text) => [
      ...text.matchAll(/\b(PDS_[A-Z_]+)=(?:'([^']*)'|([^\s'\\]+))/g),
    ]);
    for (const [, name = '', quoted, plain = ''] of set) {
      // A replica is refused with the default database.
      const database = name === 'PDS_REPLICA_URL' ? { PDS_DATABASE_URL: 'postgres://pds@primary/pds' } : {};
      readConfig({ ...database, [name]: quoted ?? plain });
    }
  });

  test('names files of the project that exist', () => {
    const files = words.filter((word) => OWN_FILE.test(word) && /\.\w+$/.test(word));
    const folders = ['', 'client', 'portal', 'test', 'src'].map((folder) => join(ROOT, folder));
    expect(files.filter((name) => !folders.some((folder) => existsSync(join(folder, name))))).toEqual([]);
  });

  test('clones no tag, since releases have none', () => {
    for (const text of readCommandBlocks(file)) expect(text).not.toMatch(/\bgit clone\b.*\s(?:--branch|-b)\b/);
  });
});

test('SECURITY.md names the tests of what it promises', () => {
  const named = readCodeSpans('SECURITY.md').filter((span) => OWN_FILE.test(span) && span.endsWith('.test.ts'));
  expect(named.length).toBeGreaterThan(20);
});

test('the partners’ guide sends nobody to a checkout of this project', () => {
  const guides = DOCUMENTS.filter((file) => file.startsWith('docs/partner-guide/'));
  expect(guides.filter((file) => /\bnpm (?:start|ci|run|test)\b|\bnpx pds\b/.test(readDocument(file)))).toEqual([]);
});

describe('a document would not pass', () => {
  test.each([
    ['a command that does not exist', 'sudo pds partner remove acme', 'no command remove'],
    ['an option that does not exist', 'until npx pds check --ful; do sleep 1; done', 'no option --ful'],
    ['an option of another command', 'npx pds key find --overlap 1h', 'no option --overlap'],
    ['too many arguments', 'pds key list acme other', 'more than 1'],
  ])('that names %s', (_what, text, problem) => {
    expect(findPdsCommands(text).map(findProblem)).toEqual([expect.stringContaining(problem)]);
  });
});

test("the operators' guide names only options that exist", () => {
  const guide = DOCUMENTS.filter((file) => file.startsWith('docs/operators/'));
  const named = guide.flatMap(readCodeSpans).filter((span) => /^--[a-z-]+$/.test(span));
  expect(named.filter((name) => !OTHER_OPTIONS.has(name) && !listOptions().includes(name))).toEqual([]);
});

test('the mirror accepts the options in its guide', () => {
  const commands = readCommandBlocks('client/MIRROR.md').flatMap((text) => [
    ...text.matchAll(/partner-data-mirror (?<options>--.*)/g),
  ]);
  expect(commands.length).toBeGreaterThan(0);
  const environment = { PARTNER_DATA_URL: 'https://api.example.com', PARTNER_DATA_KEY: 'key' };
  for (const { groups } of commands) readOptions(groups?.['options']?.split(' ') ?? [], environment);
});

test('the bench has the options that CONTRIBUTING.md names', () => {
  const bench = readFileSync(join(ROOT, 'bench/main.ts'), 'utf8');
  const options = readCommandBlocks('CONTRIBUTING.md').flatMap((text) => text.match(/--[a-z-]+/g) ?? []);
  for (const option of options) expect(bench).toContain(`'${option}`);
});

test('the table of settings is up to date with "npm run settings"', () => {
  const document = readDocument('docs/operators/configure.md');
  expect(document).toBe(withCurrentTable(document));
  for (const name of Object.keys(SETTINGS)) expect(document).toContain(`\n| \`${name}\` |`);
});
