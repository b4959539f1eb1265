import { EQUALS_MODEL, type Mutant } from './mutant.ts';

/** Faults in the bitmap index. */
export const INDEXES: readonly Mutant[] = [
  {
    name: 'a comparison of many records ignores the lowest slice',
    breaks: EQUALS_MODEL,
    file: 'src/index/bit-slices.ts',
    original: `for (let slice = slices.length - 1; slice >= 0; slice -= 1) {
    const isSet = boundBits[slice] === 1;
    const set`,
    replacement: `for (let slice = slices.length - 1; slice > 0; slice -= 1) {
    const isSet = boundBits[slice] === 1;
    const set`,
    tests: ['test/index/bit-slices.unit.test.ts'],
  },
  {
    name: 'a prefix ends before letters above U+FFFF',
    breaks: EQUALS_MODEL,
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
    breaks: EQUALS_MODEL,
    file: 'src/index/write/index-changes.ts',
    original: `const kept = differenceOf(stored.get(term) ?? EMPTY_SET, losses.get(term) ?? EMPTY_SET);
        const set = unionOf([kept, gains.get(term) ?? EMPTY_SET]);`,
    replacement: `const kept = unionOf([stored.get(term) ?? EMPTY_SET, gains.get(term) ?? EMPTY_SET]);
        const set = differenceOf(kept, losses.get(term) ?? EMPTY_SET);`,
    tests: ['test/index/index-changes.test.ts'],
  },
  {
    name: 'a set of 4,096 positions is stored as an array, and read as bits',
    breaks: EQUALS_MODEL,
    file: 'src/index/position-set.ts',
    original: 'const MAX_ARRAY_LENGTH = 4_095;',
    replacement: 'const MAX_ARRAY_LENGTH = 4_096;',
    tests: ['test/index/position-set.unit.test.ts'],
    isInCi: true,
  },
];
