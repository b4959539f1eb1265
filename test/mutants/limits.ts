import type { Mutant } from './mutant.ts';

/** Faults in the limits of partners. */
export const LIMITS: readonly Mutant[] = [
  {
    name: 'a partner can send one request more than its limit',
    breaks: 'Over the limit, a partner gets 429',
    file: 'src/rate-limiting/request-limits.ts',
    original: 'isExceeded: count > quota,',
    replacement: 'isExceeded: count > quota + 1,',
    tests: ['test/rate-limiting/request-limits.unit.test.ts'],
    isInCi: true,
  },
  {
    name: 'the records of a stream that begin another unit are free',
    breaks: "One unit of a partner's limit pays for a bounded amount of work",
    file: 'src/paging/stream.ts',
    original: 'Math.ceil(records / RECORDS_PER_UNIT)',
    replacement: 'Math.floor(records / RECORDS_PER_UNIT)',
    tests: ['test/paging/cut-streams.test.ts'],
    test: 'a stream costs a unit for each 2,000 records',
  },
];
