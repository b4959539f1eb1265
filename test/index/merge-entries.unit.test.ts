import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BlockBuilder, type IndexEntry } from '../../src/index/block-builder.ts';
import { mergeEntries } from '../../src/index/merge-entries.ts';
import { positionsFrom, setOf } from '../../src/index/position-set.ts';

type Terms = readonly string[];

/** A block before and after: each record stays, changes, is removed, is new, or moves as it is. */
const history = fc.array(
  fc.record({
    before: fc.option(fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'ä', '\u{1d400}'), { maxLength: 4 })),
    after: fc.constantFrom('same', 'moved', 'removed', 'changed'),
    terms: fc.array(fc.constantFrom('a', 'b', 'c', 'e', '\uffee'), { maxLength: 4 }),
  }),
  { maxLength: 120 },
);

function entriesOf(records: ReadonlyMap<number, Terms>): IndexEntry[] {
  const builder = new BlockBuilder();
  for (const [position, terms] of records) builder.add(position, terms);
  return builder.build();
}

const shown = (entries: Iterable<IndexEntry>): [string, number[]][] =>
  Array.from(entries, ({ term, set }) => [term, positionsFrom(set, 0, 65_536)]);

test('a block that is brought up to date is the block that would be built of its records, row by row', () => {
  fc.assert(
    fc.property(history, fc.integer({ min: 1, max: 300 }), (records, spacing) => {
      const [before, after, added] = [new Map<number, Terms>(), new Map<number, Terms>(), new Map<number, Terms>()];
      const [changed, moved] = [new Set<number>(), new Map<number, number>()];
      for (const [index, record] of records.entries()) {
        const position = index * spacing;
        // Moved records take the places behind all others: the order does not matter here.
        const newPosition = record.after === 'moved' ? 40_000 + index : position;
        if (record.before !== null) before.set(position, record.before);
        if (record.before === null || record.after === 'changed') {
          if (record.before !== null) changed.add(position);
          added.set(newPosition, record.terms);
          after.set(newPosition, record.terms);
        } else if (record.after === 'removed') changed.add(position);
        else {
          if (record.after === 'moved') moved.set(position, newPosition);
          after.set(newPosition, record.before);
        }
      }
      const stored = entriesOf(before);
      const differing = [
        ...mergeEntries(stored, { changed: setOf(Uint16Array.from(changed).sort()), moved, added: entriesOf(added) }),
      ];

      const rows = new Map(stored.map(({ term, set }) => [term, set]));
      for (const { term, set } of differing) {
        // A row that did not differ would be written for nothing.
        expect(shown([{ term, set }])).not.toEqual(shown([{ term, set: rows.get(term) ?? setOf(new Uint16Array(0)) }]));
        if (set.length === 0) rows.delete(term);
        else rows.set(term, set);
      }
      expect(Object.fromEntries(shown(Array.from(rows, ([term, set]) => ({ term, set }))))).toEqual(
        Object.fromEntries(shown(entriesOf(after))),
      );
    }),
  );
});
