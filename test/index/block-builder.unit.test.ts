import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareBytewise } from '../../src/bytewise.ts';
import { BlockBuilder } from '../../src/index/write/block-builder.ts';
import { BLOCK_SIZE, positionsFrom } from '../../src/index/position-set.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 6 });

test('builds one row per term with the positions of its records, sorted as the databases sort terms', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.nat(BLOCK_SIZE - 1).map(String), fc.array(fc.oneof(fc.constantFrom('a', 'b', 'c'), anyText)), {
        maxKeys: 200,
      }),
      (termsByPosition) => {
        const records = Object.entries(termsByPosition).map(([position, terms]) => ({
          position: Number(position),
          terms,
        }));
        const builder = new BlockBuilder();
        for (const { position, terms } of records) builder.add(position, terms);
        const rows = builder.build();

        const expected = [...new Set(records.flatMap(({ terms }) => terms))].sort((one, other) =>
          Buffer.compare(Buffer.from(one), Buffer.from(other)),
        );
        expect(rows.map(({ term }) => term)).toEqual(expected);
        for (const { term, set } of rows) {
          const positions = records.filter(({ terms }) => terms.includes(term)).map(({ position }) => position);
          expect(positionsFrom(set, 0, BLOCK_SIZE)).toEqual(positions.sort((one, other) => one - other));
        }
      },
    ),
  );
});

test('a full block of 65,536 records loses none', () => {
  const builder = new BlockBuilder();
  for (let position = BLOCK_SIZE - 1; position >= 0; position -= 1) builder.add(position, ['all', `n${position % 3}`]);
  const rows = builder.build();
  expect(rows.map(({ term, set }) => [term, positionsFrom(set, 0, BLOCK_SIZE).length])).toEqual([
    ['all', 65_536],
    ['n0', 21_846],
    ['n1', 21_845],
    ['n2', 21_845],
  ]);
});

test('compareBytewise orders texts by their UTF-8 bytes', () => {
  fc.assert(
    fc.property(anyText, anyText, (one, other) => {
      const expected = Math.sign(Buffer.compare(Buffer.from(one), Buffer.from(other)));
      expect(Math.sign(compareBytewise(one, other))).toBe(expected);
    }),
  );
});
