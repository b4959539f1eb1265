import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { databaseForEachTest } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { newFolder } from '../support/new-folder.ts';
import { runPdsInTerminal } from '../support/process/in-terminal.ts';
import { callPds } from './call-pds.ts';

let folder: string;
let out: string;

const made = databaseForEachTest();
beforeEach(async () => {
  folder = newFolder();
  out = join(folder, 'out');
  const agency = { id_from: ['Agency'], prefix: 'le_', creates: 'lead-entities' };
  const fields = { id: 'Id', name: 'Name', lead_entity_id: agency };
  writeFileSync(join(folder, 'map.json'), JSON.stringify({ kinds: { contracts: { file: 'c.csv', fields } } }));
  // Five rows, so that one is no large removal.
  expect((await convert(ROWS)).code).toBe(0);
  expect((await callPds(['import', out], made.settings)).code).toBe(0);
});

const ROWS = ['ctr_1', 'ctr_2', 'ctr_3', 'ctr_4', 'ctr_5'];

function convert(ids: readonly string[], ...options: string[]) {
  writeFileSync(join(folder, 'c.csv'), `Id,Name,Agency\n${ids.map((id) => `${id},Salt,Works\n`).join('')}`);
  return callPds(['convert', 'csv', '--map', join(folder, 'map.json'), '--out', out, ...options], made.settings);
}

async function contractIds(): Promise<string[]> {
  const rows = await made.database.kysely.selectFrom('catalog.contracts').select('id').orderBy('id').execute();
  return rows.map(({ id }) => id);
}

const NOTED = /^c\.csv: (line|row) 6\b.*: id: .*; found "ctr 5"\nThe conversion skipped these\. --replace removes/m;

describe('an import of a conversion that skipped a row', { timeout: 60_000 }, () => {
  beforeEach(async () => {
    expect((await convert([...ROWS.slice(0, -1), 'ctr 5'], '--skip-refused')).code).toBe(1);
  });

  test('with --replace, shows the row and is refused without a terminal, unless --yes', async () => {
    const refused = await callPds(['import', out, '--replace'], made.settings);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(NOTED) as string });
    expect(refused.stderr).toMatch(/error: nothing was changed; to remove those records, add --yes\n$/);
    expect(await contractIds()).toEqual(ROWS);
    expect((await callPds(['diff', out, '--replace'], made.settings)).stderr).toMatch(NOTED);
    const confirmed = await callPds(['import', out, '--replace', '--yes'], made.settings);
    expect(confirmed).toMatchObject({ code: 0, stderr: expect.stringMatching(NOTED) as string });
    expect(await contractIds()).toEqual(ROWS.slice(0, -1));
  });

  test('without --replace removes nothing, and so does not ask', async () => {
    const { code, stderr } = await callPds(['import', out], made.settings);
    expect(code).toBe(0);
    expect(stderr).not.toContain('skipped');
    expect(await contractIds()).toEqual(ROWS);
  });

  test('asks no more after a conversion that skips nothing', async () => {
    expect((await convert(ROWS)).code).toBe(0);
    const { code, stderr } = await callPds(['import', out, '--replace'], made.settings);
    expect(code).toBe(0);
    expect(stderr).not.toContain('skipped');
  });

  testWith('python').each([
    ['no', 1],
    ['y', 0],
  ])('asks on a terminal, and %j ends it with %i (needs python3)', async (typed, code) => {
    const words = ['import', out, '--replace'];
    const outcome = await runPdsInTerminal(words, made.settings, { text: 'Import without them? [y/N]', typed });
    expect(outcome.code, outcome.output).toBe(code);
    expect(await contractIds()).toEqual(code === 0 ? ROWS.slice(0, -1) : ROWS);
  });
});
