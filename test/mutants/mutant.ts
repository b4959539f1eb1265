/** A planted fault: a small change that a good engineer could make, and the tests that must notice it. */
export interface Mutant {
  /** Words that say what the fault does. */
  readonly name: string;
  /** The guarantee of ARCHITECTURE.md or of the guides that it breaks. */
  readonly breaks: string;
  readonly file: string;
  /** In the file exactly once. */
  readonly original: string;
  readonly replacement: string;
  /** Test files; at least one of them must fail. The fewer and quicker, the better. */
  readonly tests: readonly string[];
  /** Part of the name of the test in them that must fail, if the others take long. */
  readonly test?: string;
  /** Of the tests; SQLite if omitted. */
  readonly project?: 'sqlite' | 'postgres' | 'client';
  /** Whether `.ci/run` plants it: its tests take about a second. */
  readonly isInCi?: boolean;
}

/* Guarantees of several mutants. */
export const ONLY_VISIBLE = 'No response contains a record that the partner cannot see, nor shows that it exists';
export const SYNC = 'A sync misses nothing that changed or became visible';
export const EQUALS_MODEL = 'Lists, counts and records equal plain filters over all records';
export const WITHIN_A_SECOND = 'A revoked key, a suspension and a grant change take effect within a second';
export const FEED = 'A client of the feed ends with exactly what is visible, and learns no other id';
export const LIKE_ENGINES = 'Both databases give the same responses, byte for byte';
export const MIRRORED = 'A copy kept by the mirror ends with all that was visible, and its numbers';
export const REMOVALS = 'A file that was cut short removes nothing';

/* Tests of several mutants. */
export const AGREEMENT = ['test/conformance/model-agreement.test.ts'];
export const VISIBLE = ['test/sync/becoming-visible.test.ts'];
export const CHANGES = ['test/sync/feed.test.ts'];
export const RELEASE = ['test/publishing/release.test.ts'];
export const DIRECTORY = ['test/access/partner-directory.test.ts'];
export const LOG = ['test/sync/log-histories.test.ts'];
export const REPORTS = ['client/test/mirror/reports.test.ts'];

/** Faults that have these fields in common, unless one says otherwise. */
export function faults<Common extends Partial<Mutant>>(
  common: Common,
  own: readonly (Omit<Mutant, keyof Common> & Partial<Mutant>)[],
): readonly Mutant[] {
  return own.map((fault) => ({ ...common, ...fault }) as unknown as Mutant);
}
