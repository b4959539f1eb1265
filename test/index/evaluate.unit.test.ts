import fc from 'fast-check';
import { expect, test } from 'vitest';
import { slicesOf } from '../../src/index/bit-slices.ts';
import { BlockBuilder, compareBytewise } from '../../src/index/block-builder.ts';
import {
  evaluate,
  intersectAll,
  sliceTerms,
  termsOfValue,
  type Condition,
  type IndexBlock,
} from '../../src/index/evaluate.ts';
import {
  EMPTY_SET,
  intersectionOf,
  positionsFrom,
  sizeOf,
  unionOf,
  type PositionSet,
} from '../../src/index/position-set.ts';

interface Indexed {
  readonly terms: readonly string[];
  readonly deadline: number | null;
}

const WIDTH = 49;

const word = fc.constantFrom('a', 'ab', 'abc', 'b', 'bc', 'c');
const bound = fc.oneof(fc.nat(40), fc.constantFrom(2 ** 40, 2 ** 48));
const indexed = fc.record<Indexed>({
  terms: fc.array(word, { maxLength: 4 }),
  deadline: fc.option(bound, { freq: 4 }),
});
const range = fc
  .record({ from: word, to: word, accepted: fc.option(fc.subarray(['a', 'ab', 'abc', 'b', 'bc', 'c'])) })
  .map(({ from, to, accepted }) => ({
    ...{ from, to },
    ...(accepted !== null && { accepts: (term: string) => accepted.includes(term) }),
  }));
const comparison = fc.record({
  ...{ name: fc.constant('deadline'), present: fc.constant('has deadline'), width: fc.constant(WIDTH) },
  comparison: fc.constantFrom('at least' as const, 'at most' as const),
  bound,
});
const condition: fc.Arbitrary<Condition> = fc
  .tuple(fc.array(word, { maxLength: 3 }), fc.array(range, { maxLength: 2 }), fc.option(comparison, { freq: 2 }))
  .map(([terms, ranges, compared]) => ({
    ...{ key: 'a condition', terms, ranges },
    ...(compared !== null && { comparison: compared }),
  }));

/** Contains only the rows that a condition names, as the index would load them. */
function blockOf(records: readonly Indexed[], conditions: readonly Condition[]): IndexBlock {
  const builder = new BlockBuilder();
  for (const [position, { terms, deadline }] of records.entries()) {
    builder.add(position, terms);
    if (deadline === null) continue;
    builder.add(position, [
      'has deadline',
      ...slicesOf(deadline).map((slice) => sliceTerms('deadline', WIDTH)[slice] ?? ''),
    ]);
  }
  const rows = builder.build();
  const loaded = new Set(conditions.flatMap(({ terms }) => terms));
  const setOf = (term: string) => rows.find((row) => row.term === term)?.set ?? EMPTY_SET;
  return {
    get: (term) => {
      if (!loaded.has(term)) throw new Error(`${term} is not among the terms of the conditions`);
      return setOf(term);
    },
    getSlices: (compared) => termsOfValue(compared).map(setOf),
    getRange: ({ from, to, accepts = () => true }) =>
      unionOf(
        rows
          .filter(({ term }) => compareBytewise(from, term) <= 0 && compareBytewise(term, to) < 0 && accepts(term))
          .map(({ set }) => set),
      ),
  };
}

function meets({ terms, deadline }: Indexed, { terms: wanted, ranges = [], comparison: compared }: Condition): boolean {
  const isInRange = (term: string): boolean =>
    ranges.some(({ from, to, accepts = () => true }) => from <= term && term < to && accepts(term));
  if (terms.some((term) => wanted.includes(term) || isInRange(term))) return true;
  if (compared === undefined || deadline === null) return false;
  return compared.comparison === 'at least' ? deadline >= compared.bound : deadline <= compared.bound;
}

test('the records that meet all conditions are found and counted, and no other', () => {
  fc.assert(
    fc.property(
      fc.array(indexed, { maxLength: 150 }),
      fc.array(condition, { minLength: 1, maxLength: 4 }),
      (records, conditions) => {
        const block = blockOf(records, conditions);
        const expected = [...records.entries()]
          .filter(([, record]) => conditions.every((wanted) => meets(record, wanted)))
          .map(([position]) => position);
        const found = intersectAll(conditions.map((wanted) => evaluate(block, wanted)));
        const among = conditions.reduce<PositionSet | undefined>((others, wanted) => {
          const set = evaluate(block, wanted, others);
          return others === undefined ? set : intersectionOf(others, set);
        }, undefined);
        expect(positionsFrom(among ?? EMPTY_SET, 0, records.length + 1)).toEqual(expected);
        expect(positionsFrom(found, 0, records.length + 1)).toEqual(expected);
        expect(sizeOf(found)).toBe(expected.length);
      },
    ),
  );
});

test('a query without a condition is refused, and finds nothing', () => {
  expect(() => intersectAll([])).toThrow('a query needs a condition');
});
