import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { newFolder } from '../support/new-folder.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG, withImportDirectory } from '../support/publishing.ts';
import type { AddedField } from './added-field-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const PROCESS = 'test/publishing/added-field-process.ts';

/** The edits that add a field to contracts: by file, a text and the one to insert before it. */
const EDITS: Readonly<Record<string, readonly (readonly [before: string, inserted: string])[]>> = {
  'src/resources/contracts/fields.ts': [
    [
      '  lead_entity: reference(',
      "  funding: nullable(text('How the contract is paid for; null if unknown.', 'A grant')),\n",
    ],
  ],
  'test/model/records.ts': [
    ["'description', 'coop_id']", "'funding', "],
    ['  supplier_ids: string[];\n', '  funding: string | null;\n'],
  ],
  'test/model/served.ts': [['    lead_entity: ref(records.leadEntities, contract', '    funding: contract.funding,\n']],
};

test('a field needs one declaration, and the model: checks, texts, responses, documentation and CSV follow', async () => {
  await using made = await createTestDatabase();
  await publishLines(made.database, SMALL_CATALOG);
  const { key } = await makePartner(made.database, Date.now, { name: 'all', everything: true });
  const [first, ...others] = SMALL_CATALOG.contracts;
  const lines = { ...SMALL_CATALOG, contracts: [{ ...first, funding: 'A grant, once' }, ...others] };
  await expect(publishLines(made.database, lines)).rejects.toThrow('is not a field of this record');

  const { path } = made.config as { path: string };
  const seen = await withImportDirectory(lines, (directory) => {
    const run = (copy: string): string =>
      execFileSync(process.execPath, [join(copy, PROCESS), path, directory, key], { encoding: 'utf8' });
    return Promise.resolve(JSON.parse(inEditedCopy(run)) as AddedField);
  });

  // Also in a record that an earlier version rendered, and of which the import has nothing new.
  expect(seen.served).toMatchObject([
    { id: 'ctr_1', funding: 'A grant, once' },
    { id: 'ctr_2', funding: null },
  ]);
  expect(seen.served).toEqual(seen.expected);
  expect(seen.documented).toMatchObject({
    funding: { type: ['string', 'null'], description: 'How the contract is paid for; null if unknown.' },
  });
  expect(seen.csv).toMatch(/^id,name,summary,description,funding,lead_entity\.id,.*\r\nctr_1,.*,"A grant, once",le_a,/);
});

test('CONTRIBUTING.md names every file that it touches', () => {
  const [, section = ''] =
    /\n## Adding a field\n(.*?)\n## /s.exec(readFileSync(`${ROOT}CONTRIBUTING.md`, 'utf8')) ?? [];
  const touched = Object.keys(EDITS).map((file) => file.replace('resources/contracts', 'resources/<name>'));
  expect(touched.filter((file) => !section.includes(`\`${file}\``))).toEqual([]);
});

/** Runs `work` with a copy of what the edits touch; links lead to everything else. */
function inEditedCopy<T>(work: (copy: string) => T): T {
  const copy = newFolder();
  for (const path of ['src', 'test/model', 'test/support/stored-catalog.ts', PROCESS])
    cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  mkdirSync(join(copy, 'test'), { recursive: true });
  for (const name of readdirSync(ROOT)) {
    if (name !== 'src' && name !== 'test' && name !== '.git') symlinkSync(join(ROOT, name), join(copy, name));
  }
  for (const [file, insertions] of Object.entries(EDITS)) {
    let text = readFileSync(join(copy, file), 'utf8');
    for (const [before, inserted] of insertions) {
      expect(text.split(before)).toHaveLength(2);
      text = text.replace(before, () => inserted + before);
    }
    writeFileSync(join(copy, file), text);
  }
  return work(copy);
}
