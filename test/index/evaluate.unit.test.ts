import fc from 'fast-check';
import { expect, test } from 'vitest';
import { slicesOf } from '../../src/index/bit-slices.ts';
import { BlockBuilder } from '../../src/index/block-builder.ts';
import { countMatches, evaluate, sliceTerm, type Condition, type IndexBlock } from '../../src/index/evaluate.ts';
import { EMPTY_SET, positionsFrom, unionOf } from '../../src/index/position-set.ts';

interface Indexed {
  readonly terms: readonly string[];
  readonly deadline: number | null;
}

const word = fc.constantFrom('a', 'ab', 'abc', 'b', 'bc', 'c');
const bound = fc.oneof(fc.nat(40), fc.constantFrom(2 ** 40, 2 ** 48));
const indexed = fc.record<Indexed>({
  terms: fc.array(word, { maxLength: 4 }),
  deadline: fc.option(bound, { freq: 4 }),
});
const condition = fc.oneof(
  fc.record({ terms: fc.array(word, { maxLength: 3 }), prefixes: fc.array(word, { maxLength: 2 }) }),
  fc.record({
    slices: fc.constant('deadline'),
    present: fc.constant('has deadline'),
    comparison: fc.constantFrom('at least' as const, 'at most' as const),
    bound,
  }),
);

function blockOf(records: readonly Indexed[]): IndexBlock {
  const builder = new BlockBuilder();
  for (const [position, { terms, deadline }] of records.entries()) {
    builder.add(position, terms);
    if (deadline === null) continue;
    builder.add(position, ['has deadline', ...slicesOf(deadline).map((slice) => sliceTerm('deadline', slice))]);
  }
  const rows = builder.build();
  return {
    get: (term) => rows.find((row) => row.term === term)?.set ?? EMPTY_SET,
    getByPrefix: (prefix) => unionOf(rows.filter(({ term }) => term.startsWith(prefix)).map(({ set }) => set)),
  };
}

function meets({ terms, deadline }: Indexed, asked: Condition): boolean {
  if ('slices' in asked) {
    if (deadline === null) return false;
    return asked.comparison === 'at least' ? deadline >= asked.bound : deadline <= asked.bound;
  }
  const { prefixes = [] } = asked;
  return terms.some((term) => asked.terms.includes(term) || prefixes.some((prefix) => term.startsWith(prefix)));
}

test('the records that meet all conditions are found and counted, and no other', () => {
  fc.assert(
    fc.property(
      fc.array(indexed, { maxLength: 150 }),
      fc.array(condition, { minLength: 1, maxLength: 4 }),
      (records, conditions) => {
        const block = blockOf(records);
        const expected = [...records.entries()]
          .filter(([, record]) => conditions.every((asked) => meets(record, asked)))
          .map(([position]) => position);
        expect(positionsFrom(evaluate(block, conditions), 0, records.length + 1)).toEqual(expected);
        expect(countMatches(block, conditions)).toBe(expected.length);
      },
    ),
  );
});
