import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { databaseForEachTest } from '../support/database.ts';
import { newFolder } from '../support/new-folder.ts';
import { commandsIn } from '../support/process/terminal-text.ts';
import { callPds } from './call-pds.ts';

/** Clears the screen, sets the window title, and forges a row. */
const HOSTILE = 'City\u001b[2J\u001b]0;owned\u0007\nle_z  2026-01-01T00:00:00.000Z  Forged\u202e\u2028\u009b31m\u200b';

const made = databaseForEachTest();

const pds = (words: readonly string[], settings = {}) => callPds(words, { ...made.settings, ...settings });

/** The lines of an output; asserts that it has no terminal control sequences. */
function linesOf(text: string): string[] {
  expect(commandsIn(text)).toEqual([]);
  return text.split('\n').slice(0, -1);
}

test('pds partner show, pds import and pds audit print hostile text as one line without control characters', async () => {
  const source = join(newFolder(), 'data\u001b[2J\nforged');
  mkdirSync(source);
  writeFileSync(join(source, 'lead-entities.ndjson'), JSON.stringify({ id: 'le_a', name: HOSTILE }));
  const imported = await pds(['import', source]);
  expect(imported.code).toBe(0);
  expect(linesOf(imported.stderr).at(-1)).toMatch(/^Published data\\u001b\[2J\\nforged at \S+Z\.$/);
  await pds(['partner', 'create', 'acme']);
  await pds(['partner', 'grant', 'acme', '--lead-entity', 'le_a']);
  const lines = linesOf((await pds(['partner', 'show', 'acme'])).stdout);
  expect(lines.filter((line) => line.includes('Forged'))).toEqual([
    expect.stringMatching(
      /^le_a +\S+Z +nothing +City\\u001b\[2J\\u001b\]0;owned\\u0007\\nle_z .*Forged\\u202e\\u2028\\u009b31m\\u200b$/,
    ),
  ]);
  const json = (await pds(['partner', 'show', 'acme', '--json'])).stdout;
  expect(commandsIn(json)).toEqual([]);
  expect(JSON.parse(json)).toMatchObject({ grants: { lead_entities: [{ name: HOSTILE }] } });
  const audited = linesOf((await pds(['audit'])).stdout);
  expect(audited.filter((line) => line.includes('forged'))).toEqual([expect.stringContaining(' import ')]);
});

test('a refused import reports hostile files, fields and values in one line each', async () => {
  const folder = newFolder();
  const lines = [
    JSON.stringify({ id: `le${HOSTILE}`, name: 'x' }),
    JSON.stringify({ id: 'le_a', name: 'x', [HOSTILE]: 1 }),
    `{"id":"le_b","name":${HOSTILE.split('\n')[0] ?? ''}`,
  ];
  writeFileSync(join(folder, 'lead-entities.ndjson'), lines.join('\n'));
  const refused = await pds(['import', folder]);
  expect(refused.code).toBe(1);
  expect(linesOf(refused.stderr)).toHaveLength(4);
  writeFileSync(join(folder, `cities${HOSTILE}.ndjson`), '');
  for (const directory of [folder, join(folder, HOSTILE)]) {
    const { code, stderr } = await pds(['import', directory]);
    expect(code).toBe(1);
    expect(linesOf(stderr)).toHaveLength(2);
  }
});

test('messages that quote arguments, settings and database errors are one line without control characters', async () => {
  const missing = { PDS_DATABASE_URL: `sqlite:${newFolder()}/${HOSTILE}/none/pds.sqlite` };
  const failures: [string[], Record<string, string>, number][] = [
    [['partner', 'show', HOSTILE], {}, 1],
    [[HOSTILE], {}, 2],
    [['partner', 'list', `--x${HOSTILE}`], {}, 2],
    [['partner', 'set', 'acme', '--per-minute', HOSTILE], {}, 2],
    [['partner', 'list'], { [`PDS_X${HOSTILE}`]: '1' }, 1],
    [['partner', 'list'], missing, 1],
    [['partner', 'list'], { PDS_DATABASE_URL: 'postgres://127.0.0.1:1/x%1b%5b2Jy' }, 1],
    [['partner', 'list'], { ...missing, PDS_LOG_LEVEL: 'debug' }, 1],
  ];
  for (const [words, settings, exitCode] of failures) {
    const { code, stdout, stderr } = await pds(words, settings);
    const lines = linesOf(stdout + stderr);
    expect({ code, words, first: lines[0] }).toMatchObject({
      code: exitCode,
      first: expect.stringMatching(/^error: /) as string,
    });
    expect(lines.filter((line) => !/^ +at /.test(line) && line.includes('Forged')).length).toBeLessThanOrEqual(2);
    expect(lines.filter((line) => line.startsWith('le_z'))).toEqual([]);
  }
  const checked = await pds(['check'], missing);
  expect(checked.code).toBe(1);
  expect(linesOf(checked.stdout).filter((line) => line.startsWith('le_z'))).toEqual([]);
}, 60_000);
