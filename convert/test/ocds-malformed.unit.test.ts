import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { parseOcdsMap } from '../src/ocds/options.ts';
import { convertedOcds, filesOf } from './convert.ts';

/** A release as JSON, with `extra` as its last property. */
const release = (ocid: string, extra: string, date = '2019-03-01'): string =>
  `{"ocid":"${ocid}","id":"r","date":"${date}T00:00:00Z","tag":["tender"],"buyer":{"name":"City"},
    "tender":{"id":"t","title":"Salt","status":"active"},${extra}}`;

const DEEP = `"x":${'['.repeat(20_000)}${']'.repeat(20_000)}`;
const NULL = [release('bad', '"awards":[null]'), release('bad', '"awards":[{"id":1}]', '2019-04-01')].join(',');
const DIFFERS = 'awards: is an object or a list of objects in one release, and something else in another';

test.each([
  ['a list with null', `{"releases":[${release('ok', '"x":1')},${NULL}]}`, `releases[2] (bad): ${DIFFERS}`],
  [
    'lists nested 20,000 deep in a package',
    `{"releases":[${release('bad', DEEP)},${release('ok', '"x":1')}]}`,
    'releases[0] (bad): is nested more than 100 levels deep',
  ],
  [
    'lists nested 20,000 deep in a list',
    `[${release('bad', DEEP)},${release('ok', '"x":1')}]`,
    '[0] (bad): is nested more than 100 levels deep',
  ],
])('%s: only that process is refused, by its place', async (_, content, refusal) => {
  const { records, refusals } = await convertedOcds(filesOf({ 'input.json': content }));
  expect(refusals).toEqual([`input.json: ${refusal}`]);
  expect(records('solicitations')).toMatchObject([{ id: 'sol_ok' }]);
});

test('a file of lists nested 20,000 deep is refused', async () => {
  const content = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const { refusals } = await convertedOcds(filesOf({ 'input.json': content }));
  expect(refusals).toHaveLength(1);
  expect(refusals[0]).toContain('[0][0]: is neither a release, a record nor a package of OCDS');
});

test('an archive that ends early is refused', async () => {
  // Longer than what is read at once.
  const noise = randomBytes(1 << 19).toString('hex');
  const content = gzipSync(`{"releases":[${release('a', `"x":"${noise}"`)}]}`).subarray(0, -9);
  const { refusals } = await convertedOcds(filesOf({ 'input.json.gz': content }));
  expect(refusals).toEqual([expect.stringContaining('input.json.gz: unexpected end of file')]);
});

test('titles made from descriptions are cut between characters', async () => {
  const [long, asked] = ['x'.repeat(199), 'x'.repeat(79)].map((text) => `${text}\u{1F600} and more`);
  const tender = { id: 't', status: 'active', description: long, enquiries: [{ id: '1', description: asked }] };
  const one = { ocid: 'x', id: 'r', date: '2019-03-01T00:00:00Z', tag: ['tender'], buyer: { name: 'City' }, tender };
  const { records } = await convertedOcds([one]);
  const [solicitation] = records('solicitations');
  expect(solicitation?.['title']).toBe(`${'x'.repeat(199)}\u{1F600}`);
  expect(solicitation?.['questions']).toMatchObject([{ title: `${'x'.repeat(79)}\u{1F600}` }]);
});

test.each([
  ['{"status":["x"]}', 'm: status ["x"] must be an object, such as {"Advertised": "open"}'],
  ['{"status":{"x":["open"]}}', 'm: status "x" becomes ["open"], which is not one of draft, open, closed, awarded'],
  ['{"services":{"scheme":"CPV"}}', 'm: services {"scheme":"CPV"} must be a list of objects'],
  ['{"services":[["x"]]}', 'm: services[0] ["x"] must be an object with scheme, id and name, and can have prefix'],
  ['{"services":[{"scheme":"CPV"}]}', 'm: services[0] {"scheme":"CPV"} must be an object with scheme, id and name'],
])('the map %s is refused with what is accepted', (map, message) => {
  expect(() => parseOcdsMap(map, 'm')).toThrow(message);
});

test('a property named after one of every object is not counted as left out', async () => {
  const { report } = await convertedOcds(filesOf({ 'input.json': release('x', '"constructor":1,"toString":2') }));
  expect(report['dropped']).toEqual({ 'references that name no party (taken as they are)': 2 });
});
