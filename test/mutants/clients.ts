import { faults, MIRRORED, REPORTS } from './mutant.ts';

/** Faults in the client, its mirror, the Python file and the MCP server. */
export const CLIENTS = faults({ breaks: MIRRORED, tests: REPORTS, project: 'client' }, [
  {
    name: 'the client takes a stream that was cut within a line for a whole one',
    breaks: 'A piece that fails is read again, before any of its records is returned',
    file: 'client/src/streams.ts',
    original: String.raw`if (text !== '' && !text.endsWith('\n'))`,
    replacement: String.raw`if (text !== '' && !text.includes('\n'))`,
    tests: ['client/test/broken-listings.test.ts'],
  },
  {
    name: 'the client tries again before Retry-After has passed',
    breaks: 'A request is not tried again before Retry-After has passed',
    file: 'client/src/retries.ts',
    original: 'null : retryAfterMs + Math.min(jitterMs, minDelayMs)',
    replacement: 'null : Math.max(jitterMs, Math.min(retryAfterMs, maxDelayMs))',
    tests: ['client/test/retries.test.ts'],
    isInCi: true,
  },
  {
    name: 'the mirror does not notice records too many',
    file: 'client/src/mirror/sync.ts',
    original: '(counted?.[kind] ?? held[kind]) !== held[kind]',
    replacement: '(counted?.[kind] ?? held[kind]) > held[kind]',
  },
  {
    name: 'the mirror takes short lists for current if the last one is',
    file: 'client/src/mirror/sync.ts',
    original: 'isCurrent &&= ',
    replacement: 'isCurrent = ',
  },
  {
    name: 'the mirror ends a first copy that was interrupted without what changed meanwhile',
    file: 'client/src/mirror/sync.ts',
    original: "const isRepeated = isResumed || differs !== '';",
    replacement: "const isRepeated = (isResumed && listing?.isComplete === false) || differs !== '';",
    tests: ['client/test/mirror/mirror.test.ts'],
  },
  {
    name: 'a complete listing leaves old records of the kind at which a piece ends',
    file: 'client/src/mirror/sqlite/sqlite-store.ts',
    original: 'isLast ? undefined : indexOf(to.last) + 1)',
    replacement: 'isLast ? undefined : indexOf(to.last))',
    tests: ['client/test/mirror/mirror.test.ts'],
  },
  {
    name: 'partner_data.py takes a list that was cut within a line for a whole one',
    breaks: 'A piece that fails is read again, before any of its records is returned',
    file: 'client/python/partner_data.py',
    original: 'if lines.pop() != "":',
    replacement: 'if lines.pop() != "" and not lines:',
    tests: ['client/test/python/client.test.ts'],
  },
  {
    name: 'an assistant that asks what changed begins at the latest of several watermarks',
    breaks: 'A sync misses nothing that changed or became visible',
    file: 'mcp/src/tools/what-changed.ts',
    original: "?? '').sort()[0] ?? ''",
    replacement: "?? '').sort().at(-1) ?? ''",
    tests: ['mcp/test/tools.test.ts'],
  },
]);
