import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeReleases } from '../src/ocds/merge-releases.ts';

// The rules of https://standard.open-contracting.org/1.1/en/schema/merging/, one row each.

type Release = Record<string, unknown>;

/** Without the prototypes that the merged objects do not have. */
const merged = (...releases: Release[]): unknown => JSON.parse(JSON.stringify(mergeReleases(releases)));

describe('the releases of one process are merged by the rules of OCDS', () => {
  test.each<[string, Release[], unknown]>([
    ['a later value replaces an earlier one', [{ a: 1 }, { a: 2 }], { a: 2 }],
    ['a value that is not repeated stays', [{ a: 1, b: 1 }, { b: 2 }], { a: 1, b: 2 }],
    ['null removes a value', [{ a: 1, b: 1 }, { a: null }], { b: 1 }],
    ['a value that was removed can come back', [{ a: 1 }, { a: null }, { a: 3 }], { a: 3 }],
    ['null for a value that was never there removes nothing', [{ a: 1 }, { b: null }], { a: 1 }],
    [
      'false, 0 and "" are values',
      [
        { a: true, b: 1, c: 'c' },
        { a: false, b: 0, c: '' },
      ],
      { a: false, b: 0, c: '' },
    ],
    [
      'fields of an object are merged one by one',
      [{ tender: { title: 'Salt', value: { amount: 1, currency: 'USD' } } }, { tender: { value: { amount: 2 } } }],
      { tender: { title: 'Salt', value: { amount: 2, currency: 'USD' } } },
    ],
    [
      'null removes a field of an object',
      [{ tender: { title: 'Salt', status: 'active' } }, { tender: { status: null } }],
      { tender: { title: 'Salt' } },
    ],
    ['a list of strings is replaced as a whole', [{ tags: ['a', 'b'] }, { tags: ['c'] }], { tags: ['c'] }],
    [
      'objects of a list are merged by their ids, in the order of their first appearance',
      [{ awards: [{ id: '1', title: 'A', value: 1 }, { id: '2' }] }, { awards: [{ id: '3' }, { id: '1', value: 2 }] }],
      { awards: [{ id: '1', title: 'A', value: 2 }, { id: '2' }, { id: '3' }] },
    ],
    [
      'an id that is a number differs from the same digits as a string',
      [{ awards: [{ id: 1 }] }, { awards: [{ id: '1' }] }],
      { awards: [{ id: 1 }, { id: '1' }] },
    ],
    [
      'lists within objects of a list are merged by id, too',
      [
        { awards: [{ id: 'a', items: [{ id: 'i', quantity: 1 }] }] },
        { awards: [{ id: 'a', items: [{ id: 'i', unit: 'kg' }] }] },
      ],
      { awards: [{ id: 'a', items: [{ id: 'i', quantity: 1, unit: 'kg' }] }] },
    ],
    [
      'objects without an id are added',
      [{ parties: [{ name: 'A' }] }, { parties: [{ name: 'B' }] }],
      { parties: [{ name: 'A' }, { name: 'B' }] },
    ],
    [
      'additional identifiers are replaced as a whole, whatever their ids',
      [
        { parties: [{ id: 'p', additionalIdentifiers: [{ id: '1' }] }] },
        { parties: [{ id: 'p', additionalIdentifiers: [{ id: '2' }] }] },
      ],
      { parties: [{ id: 'p', additionalIdentifiers: [{ id: '2' }] }] },
    ],
    [
      'additional classifications are replaced as a whole, whatever their ids',
      [
        { tender: { items: [{ id: 'i', additionalClassifications: [{ id: '1' }] }] } },
        { tender: { items: [{ id: 'i', additionalClassifications: [{ id: '2' }] }] } },
      ],
      { tender: { items: [{ id: 'i', additionalClassifications: [{ id: '2' }] }] } },
    ],
    [
      'the id, the date and the tag of a release are left out, those of its parts are not',
      [{ ocid: 'o', id: 'r', date: 'd', tag: ['tender'], tender: { id: 't', date: 'e' } }],
      { ocid: 'o', tender: { id: 't', date: 'e' } },
    ],
    ['an empty object or list adds nothing', [{ tender: {}, awards: [] }], {}],
    ['an empty list removes nothing', [{ awards: [{ id: 'a' }] }, { awards: [] }], { awards: [{ id: 'a' }] }],
  ])('%s', (_, releases, expected) => {
    expect(merged(...releases)).toEqual(expected);
  });

  test('a key that JavaScript gives a meaning to is a key like any other', () => {
    const releases = [JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"b":2}}')] as Release[];
    expect(JSON.stringify(mergeReleases(releases))).toBe('{"__proto__":{"a":1,"b":2}}');
  });

  test.each([
    ['tender', [{ tender: { items: [{ id: 'i' }] } }, { tender: { items: { id: 'i' } } }], 'tender.items'],
    ['awards', [{ awards: { id: 'a' } }, { awards: [{ id: 'a' }] }], 'awards'],
    [
      'a list with null',
      [{ tender: { documents: [null] } }, { tender: { documents: [{ id: 'd' }] } }],
      'tender.documents',
    ],
    ['a list of texts', [{ awards: ['a'] }, { awards: [{ id: 'a' }] }], 'awards'],
  ])('%s that is of another type in a later release is refused by its path', (_, releases, path) => {
    expect(() => mergeReleases(releases)).toThrow(expect.objectContaining({ field: path }) as Error);
  });
});

const value = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constant(null), fc.array(fc.constantFrom('x', 'y')));
const item = fc.record({ id: fc.constantFrom('1', '2', '3'), title: value, amount: value }, { requiredKeys: ['id'] });
const release = fc.record(
  {
    title: value,
    tender: fc.record(
      { status: value, items: fc.uniqueArray(item, { selector: ({ id }) => id }) },
      { requiredKeys: [] },
    ),
    awards: fc.uniqueArray(item, { selector: ({ id }) => id }),
  },
  { requiredKeys: [] },
);

test('a release that is repeated at once changes nothing', () => {
  fc.assert(
    fc.property(fc.array(release, { minLength: 1, maxLength: 5 }), (releases) => {
      expect(merged(...releases.flatMap((one) => [one, one]))).toEqual(merged(...releases));
    }),
  );
});

test('merging does not change the releases', () => {
  fc.assert(
    fc.property(fc.array(release, { maxLength: 5 }), (releases) => {
      const before = structuredClone(releases);
      mergeReleases(releases);
      expect(releases).toEqual(before);
    }),
  );
});
