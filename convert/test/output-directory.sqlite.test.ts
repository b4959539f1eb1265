import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { convertOcds } from '../src/ocds/convert-ocds.ts';
import { ConversionReport } from '../src/report.ts';
import { Workspace } from '../src/workspace.ts';
import { callPds } from '../../test/commands/call-pds.ts';
import { runPdsSignalled, type Outcome } from '../../test/commands/run-pds.ts';
import { filesOf, OPTIONS, temporaryFolder } from './convert.ts';

/** Converts a CSV file of contracts or suppliers in a folder into its `out`. */
function convertInto(
  folder: string,
  kind: 'contracts' | 'suppliers',
  rows: string,
  ...options: string[]
): Promise<Outcome> {
  const agency = { id_from: ['Agency'], prefix: 'le_', creates: 'lead-entities' };
  const fields = { id: 'Id', name: 'Name', ...(kind === 'contracts' ? { lead_entity_id: agency } : {}) };
  const ignore = kind === 'contracts' ? [] : ['Agency'];
  writeFileSync(join(folder, 'table.csv'), `Id,Name,Agency\n${rows}`);
  writeFileSync(join(folder, 'map.json'), JSON.stringify({ kinds: { [kind]: { file: 'table.csv', fields, ignore } } }));
  return callPds(['convert', 'csv', '--map', join(folder, 'map.json'), '--out', join(folder, 'out'), ...options], {});
}

test.each(['ocds', 'csv'])('convert %s names a map that it cannot read', async (format) => {
  const folder = temporaryFolder();
  const [file = ''] = filesOf({ '1.json': '{}' });
  const map = join(folder, 'missing.json');
  const words = ['convert', format, ...(format === 'ocds' ? [file] : []), '--map', map, '--out', join(folder, 'out')];
  const { code, stderr } = await callPds(words, {});
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
])('an interruption %s leaves the directory as it was', { timeout: 60_000 }, async (_, statement) => {
  const [first = '', second = ''] = filesOf({ '1.json': releases(1, 'Old'), '2.json': releases(1_000, 'New') });
  const out = join(temporaryFolder(), 'out');
  await callPds(['convert', 'ocds', first, '--out', out], {});
  const before = readFileSync(join(out, 'solicitations.ndjson'), 'utf8');
  const words = ['convert', 'ocds', second, '--out', out];
  const outcome = await runPdsSignalled(words, {}, { signal: 'SIGINT', statement });
  expect(outcome).toMatchObject({ code: 130, stderr: expect.stringMatching(/nothing was written\.\n$/) as string });
  expect(readdirSync(out).sort()).toEqual(['lead-entities.ndjson', 'solicitations.ndjson']);
  expect(readFileSync(join(out, 'solicitations.ndjson'), 'utf8')).toBe(before);
  // A killed conversion could leave this.
  writeFileSync(join(out, 'solicitations.ndjson.new'), '{');
  expect(await callPds(words, {})).toMatchObject({ code: 0 });
  expect(readdirSync(out).sort()).toEqual(['lead-entities.ndjson', 'solicitations.ndjson']);
});

test('an interruption ends the conversion of processes, not only the reading of files', async () => {
  const workspace = new Workspace(() => []);
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

test('a killed conversion leaves no temporary files', async () => {
  const [file = ''] = filesOf({ 'input.json': releases(1_000, 'T') });
  const [folder, temporary] = [temporaryFolder(), temporaryFolder()];
  const words = ['convert', 'ocds', file, '--out', join(folder, 'out')];
  const signalled = { signal: 'SIGKILL', statement: 'select json from record' } as const;
  const { code } = await runPdsSignalled(words, { TMPDIR: temporary }, signalled);
  expect({ code, left: readdirSync(temporary) }).toEqual({ code: null, left: [] });
});

test('links in the directory are replaced, and never written through', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'out'));
  writeFileSync(join(folder, 'mine.txt'), 'mine');
  const links = ['contracts.ndjson', 'contracts.ndjson.new', 'contracts.skipped.txt', 'coops.ndjson.new'];
  for (const name of links) symlinkSync(join(folder, 'mine.txt'), join(folder, 'out', name));
  const { code } = await convertInto(folder, 'contracts', 'ctr_1,Salt,Works\nctr 2,Sand,Works\n', '--skip-refused');
  expect(code).toBe(1);
  expect(readFileSync(join(folder, 'mine.txt'), 'utf8')).toBe('mine');
  const names = readdirSync(join(folder, 'out')).sort();
  // No lead entity was refused.
  expect(names).toEqual(['contracts.ndjson', 'contracts.skipped.txt', 'lead-entities.ndjson']);
  for (const name of names) expect(lstatSync(join(folder, 'out', name)).isFile()).toBe(true);
});

test.each([['ocds FIFO --out OUT'], ['csv --map FIFO --out OUT'], ['csv --map MAP --out OUT'], ['csv --sketch FIFO']])(
  'convert %s refuses a pipe, which may never end',
  async (line) => {
    const folder = temporaryFolder();
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const fields = { id: 'Id', name: 'Name' };
    const [map = ''] = filesOf({ 'map.json': JSON.stringify({ kinds: { coops: { file: fifo, fields } } }) });
    const words = line.replace('FIFO', fifo).replace('OUT', join(folder, 'out')).replace('MAP', map).split(' ');
    expect(await callPds(['convert', ...words], {})).toMatchObject({
      code: 1,
      stderr: `error: ${fifo} cannot be read: only regular files are, no pipes or folders\n`,
    });
  },
);
