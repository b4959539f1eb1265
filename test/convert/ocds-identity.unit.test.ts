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
