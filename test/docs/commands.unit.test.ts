import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { readConfig } from '../../src/config.ts';
import { program } from '../../src/commands/program.ts';
import { COMMAND_BLOCKS } from './command-blocks.ts';
import { parseCommands, type CommandLine } from './command-lines.ts';
import { DOCUMENTS, readCodeBlocks, readCodeSpans, readDocument, ROOT } from './documents.ts';

/** Info strings of blocks that contain commands. */
const SHELLS = new Set(['sh', 'shell', 'bash', 'console', 'zsh']);

/** Third-party programs, whose options are not checked. */
const PROGRAMS = new Set(['curl', 'createdb', 'pg_dump', 'pg_restore', 'git']);

/** Words that are files of the project. */
const OWN_FILE = /^(?:src|test|ops|docs|bench|scripts|client|migrations|sample|node_modules)\/[\w./-]+\w$|^sample$/;

/** Used in the block that shows the error for an unknown setting. */
const WRONG_ON_PURPOSE = new Set(['PDS_PROT']);

/** All settings, from the error message that lists them. */
const SETTINGS = new Set(catchMessage(() => readConfig({ PDS_NO_SETTING: '' })).match(/\bPDS_[A-Z_]+/g));
SETTINGS.delete('PDS_NO_SETTING');

const commandsOf = (file: string): string[] =>
  readCodeBlocks(file)
    .filter(({ language }) => SHELLS.has(language.split(' ')[0] ?? ''))
    .map(({ text }) => text);

describe.each(Object.keys(COMMAND_BLOCKS))('%s', (file) => {
  const commands = commandsOf(file).flatMap(parseCommands);

  test('has no block of commands that no test knows', () => {
    const starts = commandsOf(file).map((text) => text.split('\n')[0]);
    expect(starts.sort()).toEqual(Object.keys(COMMAND_BLOCKS[file] ?? {}).sort());
  });

  test('uses programs, scripts of npm and files that exist', () => {
    for (const { words } of commands.filter((command) => command.words.length > 0 && pdsWordsOf(command) === null)) {
      const [program = '', ...rest] = words;
      if (program === 'npm')
        expect([...Object.keys(manifest.scripts), 'ci'], words.join(' ')).toContain(scriptOf(rest));
      else expect(PROGRAMS, words.join(' ')).toContain(program);
    }
    const files = commands.flatMap(({ words }) => words.filter((word) => OWN_FILE.test(word)));
    expect(files.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
  });

  test('sets variables to values that the service accepts', () => {
    for (const { settings } of commands) {
      const own = Object.entries(settings).filter(([name]) => name.startsWith('PDS_') && !WRONG_ON_PURPOSE.has(name));
      // Replicas are rejected with the default database.
      const database = 'PDS_REPLICA_URLS' in settings ? { PDS_DATABASE_URL: 'postgres://pds@primary/pds' } : {};
      if (settings['PDS_PORT'] !== 'x') readConfig({ ...database, ...Object.fromEntries(own) });
    }
  });

  test('gives pds commands and options that it takes', async () => {
    doNothing(program);
    for (const words of commands.map(pdsWordsOf).filter((each) => each !== null)) {
      await expect(program.parseAsync(words, { from: 'user' }), `pds ${words.join(' ')}`).resolves.toBeDefined();
    }
  });
});

/** Makes a command and its subcommands only parse their arguments. */
function doNothing(command: Command): void {
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  if (command.commands.length === 0) command.action(() => undefined);
  command.commands.forEach(doNothing);
}

/** The arguments of a command that runs `pds`; null if it runs something else. */
function pdsWordsOf({ words }: CommandLine): string[] | null {
  if (words[0] === 'npx' && words[1] === 'pds') return words.slice(2);
  if (words[0] === 'node_modules/.bin/node' && words[1] === 'src/main.js') return words.slice(2);
  return null;
}

const scriptOf = ([word, script]: readonly string[]): string | undefined => (word === 'run' ? script : word);

describe.each(DOCUMENTS.filter((file) => file !== 'CHANGELOG.md'))('%s', (file) => {
  test('names settings and files of the project that exist', () => {
    const settings = readDocument(file).match(/\bPDS_[A-Z_]+(?<!_)/g) ?? [];
    for (const name of settings.filter((each) => !WRONG_ON_PURPOSE.has(each))) expect(SETTINGS).toContain(name);
    const files = readCodeSpans(file).filter((word) => OWN_FILE.test(word) && /\.\w+$/.test(word));
    const folders = ['', 'client', 'test', 'src'].map((folder) => join(ROOT, folder));
    expect(files.filter((name) => !folders.some((folder) => existsSync(join(folder, name))))).toEqual([]);
  });
});

function catchMessage(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return String(error);
  }
  throw new Error('nothing was refused');
}

test('the table of settings in docs/operators.md has all of them', () => {
  const rows = readDocument('docs/operators.md').matchAll(/^\| `(?<name>PDS_[A-Z_]+)` +\|/gm);
  expect([...rows].map(({ groups }) => groups?.['name']).sort()).toEqual([...SETTINGS].sort());
});
