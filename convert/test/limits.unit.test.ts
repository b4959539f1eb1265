import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { convertedCsv, convertedOcds, filesOf } from './convert.ts';

const MIB = 1024 * 1024;
const TOO_LONG = 'is longer than 16 MiB: is this OCDS?';
const RELEASE = JSON.stringify({
  ...{ ocid: 'x', id: 'r', date: '2019-03-01T00:00:00Z', tag: ['tender'], buyer: { name: 'City' } },
  tender: { id: 't', title: 'Salt', status: 'active' },
});

test.each([
  ['a text', `{"releases":[{"ocid":"a","x":"${'y'.repeat(17 * MIB)}`, `releases[0]: ${TOO_LONG}`],
  [
    'a release',
    `{"releases":[${RELEASE},{"x":[${'"yyyyyyyyyyyyyyyyyyyyyyyyyyy",'.repeat(0.6 * MIB)}`,
    `releases[1]: ${TOO_LONG}`,
  ],
  ['a package beside its releases', `{"releases":[],"x":["${`${'y'.repeat(MIB)}","`.repeat(17)}`, TOO_LONG],
])('%s of more than 16 MiB is refused, without reading on', { timeout: 60_000 }, async (_, content, message) => {
  const { refusals } = await convertedOcds(filesOf({ 'input.json': content }));
  expect(refusals).toEqual([`input.json: ${message}`]);
});

test('a list of releases can be longer', { timeout: 60_000 }, async () => {
  const [start, end] = [RELEASE.slice(0, -1), RELEASE.replace('"x"', '"y"')];
  const content = `[${start},"x":"${'y'.repeat(10 * MIB)}"},${start},"x":"${'y'.repeat(10 * MIB)}"},${end}]`;
  const { refusals, records } = await convertedOcds(filesOf({ 'input.json': content }));
  expect(refusals).toEqual([]);
  expect(records('solicitations').map(({ id }) => id)).toEqual(['sol_x', 'sol_y']);
});

test('a cell of more than 16 MiB is refused', { timeout: 60_000 }, async () => {
  const map = { kinds: { coops: { file: 'c.csv', fields: { id: 'Id', name: 'Name' } } } };
  const content = { 'c.csv': `Id,Name\nco_1,"${'y'.repeat(17 * MIB)}` };
  await expect(convertedCsv(map, content)).rejects.toThrow(/c\.csv cannot be read: .*16777216.* line 2/);
});

test('an archive that unpacks to far more than its size is refused', { timeout: 60_000 }, async () => {
  const content = gzipSync(`{"ocid":"a","x":"${'y'.repeat(11 * MIB)}"}`.repeat(7));
  const { refusals } = await convertedOcds(filesOf({ 'input.json.gz': content }));
  expect(refusals.at(-1)).toBe('input.json.gz: unpacks to more than 250 times its size');
});

test('thousands of equal refusals are one', async () => {
  const { refusals } = await convertedOcds(filesOf({ 'input.json.gz': gzipSync('{"ocid":1}\n'.repeat(20_000)) }));
  expect(refusals).toEqual([
    'input.json.gz: date: is missing (20000 times: document 2, document 3, document 4, document 5, …)',
  ]);
});
