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
    original: "after: after ?? '', rows: limit + 1 }",
    replacement: "after: after ?? '', rows: limit }",
    tests: AGREEMENT,
  },
  {
    name: 'a page that is cut by its size ends the list',
    breaks: EQUALS_MODEL,
    file: 'src/paging/pages.ts',
    original: 'return { ...page, hasMore: hasMore || found.length < positions.length };',
    replacement: 'return { ...page, hasMore };',
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
    file: 'src/paging/one-state.ts',
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
    tests: AGREEMENT,
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
    name: 'a suspension that a server does not know of is not noticed by the read',
    breaks: 'No response has an older scope than its cursor shows, whichever process sends it',
    file: 'src/paging/one-state.ts',
    original: 'const isCurrent = row.scope_event === scopeEvent;',
    replacement: 'const isCurrent = row.scope_event >= "" && !partner.isSuspended;',
    tests: ['test/sync/several-processes.test.ts'],
  },
];
