import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareBytewise } from '../../src/bytewise.ts';
import { slicesOf, sliceTerms } from '../../src/index/bit-slices.ts';
import { BlockQuery, SetCache } from '../../src/index/block-query.ts';
import type { Condition, TermRange } from '../../src/index/conditions.ts';
import { EMPTY_SET, positionsFrom, sizeOf, unionOf, type PositionSet } from '../../src/index/position-set.ts';
import { BlockBuilder } from '../../src/index/write/block-builder.ts';

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
    ...{ key: `condition ${JSON.stringify([terms, ranges.map(({ from, to }) => [from, to]), compared])}`, terms },
    ...(ranges.length > 0 && { ranges }),
    ...(compared !== null && { comparison: compared }),
  }));

/** The set of each term, and the union of the sets of each range, as the index would load them. */
function rowsOf(records: readonly Indexed[]): (rows: { term: string } | { range: TermRange }) => PositionSet {
  const builder = new BlockBuilder();
  for (const [position, { terms, deadline }] of records.entries()) {
    builder.add(position, terms);
    if (deadline === null) continue;
    builder.add(position, [
      'has deadline',
      ...slicesOf(deadline).map((slice) => sliceTerms('deadline', WIDTH)[slice] ?? ''),
    ]);
  }
  const entries = builder.build();
  return (rows) => {
    if ('term' in rows) return entries.find(({ term }) => term === rows.term)?.set ?? EMPTY_SET;
    const { from, to, accepts = () => true } = rows.range;
    const isIn = (term: string) => compareBytewise(from, term) <= 0 && compareBytewise(term, to) < 0 && accepts(term);
    return unionOf(entries.filter(({ term }) => isIn(term)).map(({ set }) => set));
  };
}

/** A query that has read its missing sets. */
function openQuery(read: ReturnType<typeof rowsOf>, conditions: readonly Condition[], cache: SetCache): BlockQuery {
  const query = new BlockQuery({ number: 0, firstId: '', prefix: '1 ' }, conditions, cache);
  query.take((key) => {
    const range = query.missing.get(key)?.range;
    return read(range === undefined ? { term: key } : { range });
  });
  return query;
}

function meets({ terms, deadline }: Indexed, { terms: wanted, ranges = [], comparison: compared }: Condition): boolean {
  const isInRange = (term: string): boolean =>
    ranges.some(({ from, to, accepts = () => true }) => from <= term && term < to && accepts(term));
  if (terms.some((term) => wanted.includes(term) || isInRange(term))) return true;
  if (compared === undefined || deadline === null) return false;
  return compared.comparison === 'at least' ? deadline >= compared.bound : deadline <= compared.bound;
}

test('a block query matches exactly the records that meet all conditions, and finds the first from any position on, with an empty cache and with a filled one', () => {
  fc.assert(
    fc.property(
      fc.array(indexed, { maxLength: 150 }),
      // More records than are examined one by one.
      fc.constantFrom(1, 20),
      fc.uniqueArray(condition, { minLength: 1, maxLength: 4, selector: ({ key }) => key }),
      fc.nat(2_000),
      fc.integer({ min: 1, max: 100 }),
      (some, copies, conditions, from, limit) => {
        const records = Array.from({ length: copies }, () => some).flat();
        const expected = [...records.entries()]
          .filter(([, record]) => conditions.every((wanted) => meets(record, wanted)))
          .map(([position]) => position);
        const read = rowsOf(records);
        const [ofMatches, ofFirst] = [new SetCache(1_000_000), new SetCache(1_000_000)];
        for (const round of ['empty', 'filled']) {
          const found = openQuery(read, conditions, ofMatches).match();
          expect(positionsFrom(found, 0, records.length + 1), round).toEqual(expected);
          expect(sizeOf(found)).toBe(expected.length);
          const first = openQuery(read, conditions, ofFirst).first(from, limit);
          expect(first, round).toEqual(expected.filter((position) => position >= from).slice(0, limit));
        }
      },
    ),
  );
});

test('no set is read for a block in which one condition is known to match nothing', () => {
  const cache = new SetCache(1_000);
  const visible: Condition = { key: 'owner', terms: ['owner'] };
  const block = { number: 0, firstId: '', prefix: '1 ' };
  const first = new BlockQuery(block, [visible], cache);
  first.take(() => EMPTY_SET);
  expect(first.match()).toHaveLength(0);
  const wordBefore: Condition = { key: 'before', terms: ['before'], ranges: [{ from: 'a', to: 'b' }] };
  const second = new BlockQuery(block, [wordBefore, visible, { key: 'after', terms: ['after'] }], cache);
  expect(second.missing.size).toBe(0);
  expect(second.match()).toHaveLength(0);
  expect(second.first(0, 10)).toHaveLength(0);
});

test('a query without a condition is refused', () => {
  const query = new BlockQuery({ number: 0, firstId: '', prefix: '1 ' }, [], new SetCache(1_000));
  expect(() => query.match()).toThrow('a query needs a condition');
  expect(() => query.first(0, 1)).toThrow('a query needs a condition');
});

test('a condition that no other request has leaves no set in the cache', () => {
  const cache = new SetCache(1_000_000);
  const read = rowsOf([
    { terms: ['a'], deadline: 3 },
    { terms: ['b'], deadline: null },
  ]);
  const once = { key: 'once', terms: ['a'], isOfOneRequest: true };
  const query = openQuery(read, [once, { key: 'a or b', terms: ['a', 'b'] }], cache);
  expect(positionsFrom(query.match(), 0, 9)).toEqual([0]);
  expect([...cache.keys()].sort()).toEqual(['1 a', '1 a or b', '1 b']);
});
