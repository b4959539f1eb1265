import { describe, expect, test } from 'vitest';
import { convertedOcds, filesOf } from './convert.ts';

/** A release with a contract of a buyer, as the text of JSON; `n` is an id that is a number. */
const withNumber = (ocid: string, n: string): string =>
  `{"ocid":"${ocid}","id":"r","date":"2019-03-01T00:00:00Z","tag":["contract"],"buyer":{"id":${n},"name":"City"},
    "parties":[{"id":${n},"name":"City","identifier":{"scheme":"XX","id":${n}}}],
    "contracts":[{"id":${n},"title":"C"}]}`;

describe('ids that are numbers', () => {
  const [first, second] = [withNumber('x-1', '20190812345678901'), withNumber('x-2', '20190812345678899')];

  test.each([
    ['a package', `{"releases":[${first},${second}]}`],
    ['JSON lines', `${first.replaceAll('\n', '')}\n${second.replaceAll('\n', '')}\n`],
  ])('are exact in %s, however long', async (_, content) => {
    const { records, refusals } = await convertedOcds(filesOf({ 'input.json': content }));
    expect(refusals).toEqual([]);
    expect(records('contracts').map(({ id, lead_entity_id }) => [id, lead_entity_id])).toEqual([
      ['ctr_x-1_20190812345678901', 'le_XX-20190812345678901'],
      ['ctr_x-2_20190812345678899', 'le_XX-20190812345678899'],
    ]);
  });
});

test('an id is the same however its number is spelled', async () => {
  const content = `${['1', '1.0', '1e0', '"1"'].map((n) => withNumber('x-1', n).replaceAll('\n', '')).join('\n')}\n`;
  const { records } = await convertedOcds(filesOf({ 'input.json': content }));
  expect(records('contracts').map(({ id, lead_entity_id }) => [id, lead_entity_id])).toEqual([
    ['ctr_x-1_1', 'le_XX-1'],
  ]);
});

describe('contracts whose ids are equal', () => {
  const release = (ocid: string, ...contracts: object[]): object => ({
    ...{ ocid, id: 'r', date: '2019-03-01T00:00:00Z', tag: ['contract'], buyer: { name: 'City' }, contracts },
  });

  test('in two processes: the later process is refused, and names the other', async () => {
    const { records, refusals } = await convertedOcds([
      { releases: [release('x_1', { id: '2', title: 'One' }), release('x', { id: '1_2', title: 'Two' })] },
    ]);
    expect(refusals).toEqual([
      'input-0.json: releases[0] (x_1): contracts.id: gives the id ctr_x_1_2, which x already has; leave out one of them',
    ]);
    expect(records('contracts')).toMatchObject([{ id: 'ctr_x_1_2', name: 'Two' }]);
  });

  test.each([
    ['missing', [{ title: 'One' }, { title: 'Two' }]],
    [
      'repeated',
      [
        { id: 1, title: 'One' },
        { id: '1', title: 'Two' },
      ],
    ],
  ])('because they are %s in one process: it is refused', async (_, contracts) => {
    const compiledRelease = release('x', ...contracts);
    const { refusals } = await convertedOcds([
      {
        records: [
          { ocid: 'x', compiledRelease },
          { ocid: 'y', compiledRelease: release('y', { id: '1' }) },
        ],
      },
    ]);
    expect(refusals).toEqual([
      'input-0.json: records[0].compiledRelease (x): contracts.id: is missing or repeated; each contract of a process needs its own',
    ]);
  });

  test('awards that become contracts count as well', async () => {
    const awards = [{ title: 'One' }, { title: 'Two' }];
    const { refusals } = await convertedOcds([{ ...release('x'), awards }], { contracts: 'awards' });
    expect(refusals).toEqual([
      'input-0.json: (x): awards.id: is missing or repeated; each contract of a process needs its own',
    ]);
  });
});
