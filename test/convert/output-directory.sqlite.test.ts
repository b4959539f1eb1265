import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runPds, type Outcome } from '../commands/run-pds.ts';
import { temporaryFolder } from './convert.ts';

/** Converts a CSV file of contracts or suppliers in a folder into its `out`. */
function convertInto(folder: string, kind: 'contracts' | 'suppliers', rows: string): Promise<Outcome> {
  const agency = { id_from: ['Agency'], prefix: 'le_', creates: 'lead-entities' };
  const fields = { id: 'Id', name: 'Name', ...(kind === 'contracts' ? { lead_entity_id: agency } : {}) };
  const ignore = kind === 'contracts' ? [] : ['Agency'];
  writeFileSync(join(folder, 'table.csv'), `Id,Name,Agency\n${rows}`);
  writeFileSync(join(folder, 'map.json'), JSON.stringify({ kinds: { [kind]: { file: 'table.csv', fields, ignore } } }));
  return runPds(['convert', 'csv', '--map', join(folder, 'map.json'), '--out', join(folder, 'out')], {});
}

test('two maps of different kinds can share a directory', async () => {
  const folder = temporaryFolder();
  await convertInto(folder, 'suppliers', 'sup_1,Acme,\n');
  const { code, stderr } = await convertInto(folder, 'contracts', 'ctr_1,Salt,Works\n');
  expect(code).toBe(0);
  expect(stderr).toContain(`${folder}/out still holds suppliers.ndjson as before.\n`);
  const names = ['contracts.ndjson', 'lead-entities.ndjson', 'suppliers.ndjson'];
  expect(readdirSync(join(folder, 'out')).sort()).toEqual(names);
});

test('a repeated conversion replaces its files, and removes those without records', async () => {
  const folder = temporaryFolder();
  await convertInto(folder, 'contracts', 'ctr_1,Salt,Works\n');
  const again = await convertInto(folder, 'contracts', 'ctr_2,Sand,Works\n');
  expect(again.code).toBe(0);
  expect(again.stderr).not.toContain('still holds');
  expect(readFileSync(join(folder, 'out/contracts.ndjson'), 'utf8')).toMatch(/^\{"id":"ctr_2".*\n$/);
  expect(await convertInto(folder, 'contracts', '')).toMatchObject({ code: 0 });
  expect(readdirSync(join(folder, 'out'))).toEqual([]);
});
