import { Writable } from 'node:stream';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { grant } from '../../src/access/grant-admin.ts';
import { createPartner } from '../../src/access/partner-admin.ts';
import { showAudit } from '../../src/commands/actions/reports.ts';
import type { CommandContext } from '../../src/commands/context.ts';
import { createOutput } from '../../src/commands/output/output.ts';
import { list, show } from '../../src/commands/actions/partner.ts';
import { readConfig } from '../../src/config.ts';
import { databaseForEachTest } from '../support/database.ts';
import { publishLines } from '../support/publishing.ts';
import { commandingText, commandsIn } from '../support/process/terminal-text.ts';
import { callPds } from './call-pds.ts';
import { databaseUrlOf, type Outcome } from './run-pds.ts';

/** Clears the screen, sets the window title, and forges a row. */
const HOSTILE = 'City\u001b[2J\u001b]0;owned\u0007\nle_z  2026-01-01T00:00:00.000Z  Forged\u202e\u2028\u009b31m\u200b';

const NAMES = 60;

let folder: string;

const made = databaseForEachTest();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pds-hostile-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function pds(words: readonly string[], settings: Record<string, string> = {}): Promise<Outcome> {
  return callPds(words, { PDS_DATABASE_URL: databaseUrlOf(made.config), ...settings });
}

/** The lines of an output; asserts that it has no terminal control sequences. */
function linesOf(text: string): string[] {
  expect(commandsIn(text)).toEqual([]);
  return text.split('\n').slice(0, -1);
}

test('tables have one line per row, whatever names were imported', async () => {
  const { database } = made;
  const names = fc.sample(commandingText, NAMES);
  const coops = names.map((name, index) => ({ id: `co_${index}`, name }));
  await publishLines(database, { coops }, { directory: HOSTILE });
  await createPartner(database, Date.now, 'acme', { everything: false });
  const ids = coops.map(({ id }) => id);
  await grant(database, Date.now, 'acme', { everything: false, leadEntities: [], coops: ids });
  let text = '';
  const stream = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  const context = (isJson: boolean): CommandContext => {
    text = '';
    const config = readConfig({ PDS_DATABASE_URL: databaseUrlOf(made.config) });
    return { config, database, clock: Date.now, output: createOutput(isJson, stream, stream) };
  };
  await show(context(false), 'acme');
  const lines = linesOf(text);
  expect(lines.filter((line) => /^co_\d+ +\S+Z +nothing +x/.test(line))).toHaveLength(NAMES);
  // Seven properties, an empty line, and the heading of the grants.
  expect(lines).toHaveLength(NAMES + 9);
  await show(context(true), 'acme');
  expect(commandsIn(text)).toEqual([]);
  const { grants } = JSON.parse(text) as { grants: { coops: { name: string }[] } };
  expect(grants.coops.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  await list(context(false));
  expect(linesOf(text)).toHaveLength(2);
  const changes = await database.kysely.selectFrom('access.audit').select('id').execute();
  await showAudit(context(false), { days: 1, partner: null });
  expect(linesOf(text)).toHaveLength(changes.length + 1);
});

test('pds partner show, pds import and pds audit print hostile text as one line without control characters', async () => {
  const source = join(folder, 'data\u001b[2J\nforged');
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
  const failures: [string[], Record<string, string>, number][] = [
    [['partner', 'show', HOSTILE], {}, 1],
    [[HOSTILE], {}, 2],
    [['partner', 'list', `--x${HOSTILE}`], {}, 2],
    [['partner', 'set', 'acme', '--per-minute', HOSTILE], {}, 2],
    [['partner', 'list'], { [`PDS_X${HOSTILE}`]: '1' }, 1],
    [['partner', 'list'], { PDS_DATABASE_URL: `sqlite:${folder}/${HOSTILE}/none/pds.sqlite` }, 1],
    [['partner', 'list'], { PDS_DATABASE_URL: 'postgres://127.0.0.1:1/x%1b%5b2Jy' }, 1],
    [
      ['partner', 'list'],
      { PDS_DATABASE_URL: `sqlite:${folder}/${HOSTILE}/none/pds.sqlite`, PDS_LOG_LEVEL: 'debug' },
      1,
    ],
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
  const checked = await pds(['check'], { PDS_DATABASE_URL: `sqlite:${folder}/${HOSTILE}/none/pds.sqlite` });
  expect(checked.code).toBe(1);
  expect(linesOf(checked.stdout).filter((line) => line.startsWith('le_z'))).toEqual([]);
}, 60_000);
