import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { convertOcds } from '../../src/convert/ocds/convert-ocds.ts';
import { ConversionReport } from '../../src/convert/report.ts';
import { Workspace } from '../../src/convert/workspace.ts';
import { runPds, runPdsSignalled, type Outcome } from '../commands/run-pds.ts';
import { filesOf, OPTIONS, temporaryFolder } from './convert.ts';

/** Converts a CSV file of contracts or suppliers in a folder into its `out`. */
function convertInto(folder: string, kind: 'contracts' | 'suppliers', rows: string): Promise<Outcome> {
  const agency = { id_from: ['Agency'], prefix: 'le_', creates: 'lead-entities' };
  const fields = { id: 'Id', name: 'Name', ...(kind === 'contracts' ? { lead_entity_id: agency } : {}) };
  const ignore = kind === 'contracts' ? [] : ['Agency'];
  writeFileSync(join(folder, 'table.csv'), `Id,Name,Agency\n${rows}`);
  writeFileSync(join(folder, 'map.json'), JSON.stringify({ kinds: { [kind]: { file: 'table.csv', fields, ignore } } }));
  return runPds(['convert', 'csv', '--map', join(folder, 'map.json'), '--out', join(folder, 'out')], {});
}

test.each(['ocds', 'csv'])('convert %s names a map that it cannot read', async (format) => {
  const folder = temporaryFolder();
  const [file = ''] = filesOf({ '1.json': '{}' });
  const map = join(folder, 'missing.json');
  const words = ['convert', format, ...(format === 'ocds' ? [file] : []), '--map', map, '--out', join(folder, 'out')];
  const { code, stderr } = await runPds(words, {});
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining(`${map} cannot be read: ENOENT`) as string,
  });
});

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

/** A release of each of `count` processes, as JSON lines. */
function releases(count: number, title: string): string {
  const tender = { id: 't', title, status: 'active' };
  const release = { id: 'r', date: '2019-03-01T00:00:00Z', tag: ['tender'], buyer: { name: 'City' }, tender };
  return Array.from({ length: count }, (_, index) => JSON.stringify({ ocid: `x-${index}`, ...release })).join('\n');
}

test.each([
  ['while processes are converted', 'select * from part'],
  ['while records are written', 'select json from record'],
])('an interruption %s leaves the directory as it was', { timeout: 60_000 }, async (_, at) => {
  const [first = '', second = ''] = filesOf({ '1.json': releases(1, 'Old'), '2.json': releases(1_000, 'New') });
  const out = join(temporaryFolder(), 'out');
  await runPds(['convert', 'ocds', first, '--out', out], {});
  const before = readFileSync(join(out, 'solicitations.ndjson'), 'utf8');
  const words = ['convert', 'ocds', second, '--out', out];
  const outcome = await runPdsSignalled(words, {}, { signal: 'SIGINT', at });
  expect(outcome).toMatchObject({ code: 130, stderr: expect.stringMatching(/nothing was written\.\n$/) as string });
  expect(readdirSync(out).sort()).toEqual(['lead-entities.ndjson', 'solicitations.ndjson']);
  expect(readFileSync(join(out, 'solicitations.ndjson'), 'utf8')).toBe(before);
  // A killed conversion could leave this.
  writeFileSync(join(out, 'solicitations.ndjson.new'), '{');
  expect(await runPds(words, {})).toMatchObject({ code: 0 });
  expect(readdirSync(out).sort()).toEqual(['lead-entities.ndjson', 'solicitations.ndjson']);
});

test('an interruption ends the conversion of processes, not only the reading of files', async () => {
  const workspace = new Workspace();
  const report = new ConversionReport();
  const onRead = vi.fn((bytes: number) => {
    if (bytes === 0 && onRead.mock.calls.filter(([count]) => count === 0).length === 2) throw new Error('interrupted');
  });
  try {
    const paths = filesOf({ 'input.json': releases(1_000, 'T') });
    await expect(convertOcds(paths, OPTIONS, workspace, report, onRead)).rejects.toThrow('interrupted');
    expect(report.json({})).toMatchObject({ read: { processes: 200 } });
  } finally {
    workspace.close();
  }
});
