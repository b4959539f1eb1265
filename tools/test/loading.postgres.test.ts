import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { marked } from 'marked';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO_KEY } from '../../src/access/keys.ts';
import { databaseUrlOf, runProgram } from '../../test/commands/run-pds.ts';
import { linesOf } from '../../test/portal/examples.ts';
import { readText } from '../../test/portal/site.ts';
import { createEmptyDatabase, type TestDatabase } from '../../test/support/database.ts';
import { testWith, type InstalledProgram } from '../../test/support/installed-programs.ts';
import { startServing, type Serving } from '../../test/support/serving-process.ts';

const GUIDE = 'docs/partner-guide/loading.md';

/** The programs that the sections of the guide need; null for those that we do not run. */
const PROGRAMS: Readonly<Record<string, readonly InstalledProgram[] | null>> = {
  'Load it into…': ['curl'],
  pandas: ['pandas'],
  DuckDB: ['curl'],
  PostgreSQL: ['curl', 'psql'],
  jq: ['curl', 'jq'],
  Miller: ['curl', 'miller'],
  csvkit: ['curl', 'csvkit'],
  'LibreOffice Calc': ['curl', 'libreoffice'],
  "Excel's Power Query": null,
  R: null,
};

interface Block {
  readonly section: string;
  readonly language: string;
  readonly code: string;
  /** The output that the block below shows; null if there is none. */
  readonly output: string | null;
}

/** The commands of the guide, in order. */
function readBlocks(): Block[] {
  const blocks: Block[] = [];
  let section = '';
  for (const token of marked.lexer(readText(GUIDE))) {
    if (token.type === 'heading') section = String(token.text);
    if (token.type !== 'code') continue;
    const { lang: language, text: code } = token as { lang: string; text: string };
    const last = blocks.at(-1);
    if (!['text', 'json'].includes(language)) blocks.push({ section, language, code, output: null });
    else if (last !== undefined) blocks[blocks.length - 1] = { ...last, output: code };
  }
  return blocks;
}

const BLOCKS = readBlocks();

let served: TestDatabase;
let loaded: TestDatabase;
let serving: Serving;
let folder: string;
let environment: Record<string, string>;

beforeAll(async () => {
  [served, loaded] = await Promise.all([createEmptyDatabase(), createEmptyDatabase()]);
  folder = await mkdtemp(join(tmpdir(), 'pds-loading-'));
  serving = startServing(served.config, {}, '--demo');
  environment = {
    // Debian's Python has Debian's pandas.
    PATH: `/usr/bin:${process.env['PATH']}`,
    PYTHONPATH: fileURLToPath(new URL('../../client/python', import.meta.url)),
    PYTHONDONTWRITEBYTECODE: '1',
    // LibreOffice writes a profile.
    HOME: folder,
    PARTNER_DATA_URL: `http://127.0.0.1:${await serving.port()}`,
    PARTNER_DATA_KEY: DEMO_KEY,
    DATABASE_URL: databaseUrlOf(loaded.config),
  };
}, 60_000);
afterAll(async () => {
  serving.kill('SIGKILL');
  await Promise.all([served.drop(), loaded.drop(), rm(folder, { recursive: true })]);
});

async function run(program: string, ...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram([program, ...words], environment, { cwd: folder });
  expect(code, stderr).toBe(0);
  return stdout;
}

async function runInDuckDb(statements: string): Promise<string> {
  const database = await (await DuckDBInstance.create()).connect();
  await database.run(`set file_search_path = '${folder}'`);
  const rows = (await database.runAndReadAll(statements)).getRowObjects();
  return JSON.stringify(rows, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
}

function runBlock({ language, code }: Block): Promise<string> {
  if (language === 'sql') return runInDuckDb(code);
  return language === 'python' ? run('python3', '-c', code) : run('bash', '-euo', 'pipefail', '-c', code);
}

describe('what the guide shows', () => {
  for (const [index, block] of BLOCKS.entries()) {
    const programs = PROGRAMS[block.section];
    if (programs === null) continue;
    testWith(...(programs ?? []))(`works: ${block.section}, block ${index + 1}`, async () => {
      const output = await runBlock(block);
      if (block.output === null) return;
      if (block.language === 'sql') expect(JSON.parse(output)).toEqual(JSON.parse(block.output));
      else expect(linesOf(output)).toEqual(expect.arrayContaining(linesOf(block.output)));
    });
  }

  testWith('curl', 'libreoffice')('is text in every cell of a spreadsheet, whatever it looks like', async () => {
    await run('soffice', '--headless', '--convert-to', 'fods', 'solicitations.ods');
    const sheet = await readFile(join(folder, 'solicitations.fods'), 'utf8');
    const types = new Set([...sheet.matchAll(/office:value-type="(\w+)"/g)].map(([, type]) => type));
    expect([...types]).toEqual(['string']);
    const rows = sheet.match(/<table:table-row\b/g) ?? [];
    const lines = (await readFile(join(folder, 'solicitations.csv'), 'utf8')).split('\r\n').length - 1;
    expect(rows.length).toBeGreaterThanOrEqual(lines);
  });
});

test('each section of the guide is run, or said not to be', () => {
  expect([...new Set(BLOCKS.map(({ section }) => section))].sort()).toEqual(Object.keys(PROGRAMS).sort());
  const [, ...notRun] = /except what is for (.+) and (.+)\.$/m.exec(readText(GUIDE)) ?? [];
  const sections = Object.keys(PROGRAMS).filter((section) => PROGRAMS[section] === null);
  expect(sections.map((section) => section.replace("Excel's ", ''))).toEqual(notRun);
});

test('no key is in a URL', () => {
  for (const { code } of BLOCKS) expect(code).not.toMatch(/[?&/][^"'\s]*(?:KEY|Key)/);
});
