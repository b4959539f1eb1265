import { EQUALS_MODEL, faults } from './mutant.ts';

/** Faults in the bitmap index. */
export const INDEXES = faults({ breaks: EQUALS_MODEL }, [
  {
    name: 'the slices of a deadline lack the highest',
    file: 'src/index/bit-slices.ts',
    original: 'export const TIMESTAMP_BITS = 49;',
    replacement: 'export const TIMESTAMP_BITS = 48;',
    tests: ['test/index/bit-slices.unit.test.ts'],
    test: 'timestamps keep their order',
  },
  {
    name: 'a prefix ends before letters above U+FFFF',
    file: 'src/index/conditions.ts',
    original: String.raw`'\u{10ffff}'`,
    replacement: String.raw`'\uffff'`,
    tests: ['test/index/long-ranges.test.ts'],
  },
  {
    name: 'a checksum is computed and not compared',
    breaks: 'A damaged or misplaced set of the index fails the request',
    file: 'src/index/position-set.ts',
    original: 'return checksum === null || checksum === checksumOf(kind, block, term, bits);',
    replacement: 'return checksum === null || Number.isInteger(checksumOf(kind, block, term, bits));',
    tests: ['test/recovery/index-checksums.test.ts'],
  },
  {
    name: 'a term is lost that one record brings to a position and another takes from it',
    file: 'src/index/write/index-changes.ts',
    original: `const kept = differenceOf(stored.get(term) ?? EMPTY_SET, losses.get(term) ?? EMPTY_SET);
        const set = unionOf([kept, gains.get(term) ?? EMPTY_SET]);`,
    replacement: `const kept = unionOf([stored.get(term) ?? EMPTY_SET, gains.get(term) ?? EMPTY_SET]);
        const set = differenceOf(kept, losses.get(term) ?? EMPTY_SET);`,
    tests: ['test/index/index-changes.test.ts'],
  },
  {
    name: 'a set of 4,096 positions is stored as an array, and read as bits',
    file: 'src/index/position-set.ts',
    original: 'const MAX_ARRAY_LENGTH = 4_095;',
    replacement: 'const MAX_ARRAY_LENGTH = 4_096;',
    tests: ['test/index/position-set.unit.test.ts'],
    isInCi: true,
  },
]);
