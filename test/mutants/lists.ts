import { SYNC, EQUALS_MODEL, AGREEMENT, type Mutant } from './mutant.ts';

/** Faults in lists, pages and syncs. */
export const LISTS: readonly Mutant[] = [
  {
    name: 'a page skips the record after its cursor',
    breaks: EQUALS_MODEL,
    file: 'src/index/record-index.ts',
    original: 'from: isInBlock ? (position % BLOCK_SIZE) + 1 : 0',
    replacement: 'from: isInBlock ? (position % BLOCK_SIZE) + 2 : 0',
    tests: AGREEMENT,
  },
  {
    name: 'a reference list ends after its first page',
    breaks: EQUALS_MODEL,
    file: 'src/resources/reference-lists/reference-lists.ts',
    original: "after ?? '', limit + 1)",
    replacement: "after ?? '', limit)",
    tests: AGREEMENT,
  },
  {
    name: 'a page that is cut by its size ends the list',
    breaks: EQUALS_MODEL,
    file: 'src/paging/batch.ts',
    original: 'return { ...batch, hasMore: hasMore || found.length < positions.length };',
    replacement: 'return { ...batch, hasMore };',
    tests: ['test/paging/page-size.test.ts'],
  },
  {
    name: 'updated_since misses grants of the exact millisecond',
    breaks: SYNC,
    file: 'src/index/conditions.ts',
    original: 'since === null || grantedAt >= since ?',
    replacement: 'since === null || grantedAt > since ?',
    tests: AGREEMENT,
  },
  {
    name: 'updated_since misses releases of the exact millisecond',
    breaks: SYNC,
    file: 'src/paging/since.ts',
    original: 'from catalog.releases where at < ${parameter(timestamp)}',
    replacement: 'from catalog.releases where at <= ${parameter(timestamp)}',
    tests: ['test/sync/clients-without-watermarks.test.ts'],
  },
  {
    name: 'closing_before excludes its own millisecond',
    breaks: EQUALS_MODEL,
    file: 'src/index/bit-slices.ts',
    original: `return isSet !== wantsGreater;
    }
    return true;`,
    replacement: `return isSet !== wantsGreater;
    }
    return wantsGreater;`,
    tests: ['test/conformance/is-open.test.ts'],
  },
  {
    name: 'is_open is served for a millisecond after the deadline',
    breaks: 'A cached response is never older than a deadline in it',
    file: 'src/http/response/response-cache.ts',
    original: 'nowMs >= cached.goodUntilMs',
    replacement: 'nowMs > cached.goodUntilMs',
    tests: ['test/conformance/is-open.test.ts'],
  },
  {
    name: 'what is_open selects is cached over the deadlines of other records',
    breaks: 'A cached response is never older than a deadline in it',
    file: 'src/paging/send.ts',
    original: "return parameters['is_open'] === undefined ? revision : null;",
    replacement: "return parameters['is_open'] === null ? null : revision;",
    tests: ['test/conformance/is-open.test.ts'],
  },
  {
    name: 'an NIGP code does not match those below it',
    breaks: EQUALS_MODEL,
    file: 'src/index/terms.ts',
    original: 'length <= code.length',
    replacement: 'length === code.length',
    tests: AGREEMENT,
  },
  {
    name: 'an index of which an older version changed a part counts as complete',
    breaks: EQUALS_MODEL,
    file: 'src/index/record-index.ts',
    original: 'rows.some(({ token }) => !hasAllTerms',
    replacement: 'rows.length > 0 && rows.every(({ token }) => !hasAllTerms',
    tests: ['test/index/outdated-index.test.ts'],
  },
  {
    name: 'an import takes blocks that an older version changed for complete',
    breaks: EQUALS_MODEL,
    file: 'src/index/write/index-changes.ts',
    original: 'changes.#rebuilt.add(row.block)',
    replacement: 'changes.#touched.add(row.block)',
    tests: ['test/index/outdated-index.test.ts'],
  },
  {
    name: 'a suspension that a server does not know of is not noticed by the read',
    breaks: 'No response has an older scope than its cursor shows, whichever process sends it',
    file: 'src/access/snapshot.ts',
    original: 'const isLater = this.#parts.isNamed && timestampOf',
    replacement: 'const isLater = timestampOf',
    tests: ['test/sync/several-processes.test.ts'],
  },
];
