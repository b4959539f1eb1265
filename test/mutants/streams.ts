import { SYNC, type Mutant } from './mutant.ts';

/** Faults in streams. */
export const STREAMS: readonly Mutant[] = [
  {
    name: 'the link of a stream loses what follows a second question mark',
    breaks: SYNC,
    file: 'src/http/request/page-parameters.ts',
    original: 'new URLSearchParams(queryOf(originalUrl))',
    replacement: "new URLSearchParams(queryOf(originalUrl).split('?')[0])",
    tests: ['test/conformance/streams.test.ts'],
  },
  {
    name: 'departures that were examined cost nothing',
    breaks: "One unit of a partner's limit pays for a bounded amount of work",
    file: 'src/paging/send-changes.ts',
    original: 'const examined = result.total + begun.departures.examined;',
    replacement: 'const examined = result.total;',
    tests: ['test/sync/feed-departures.test.ts'],
  },
  {
    name: 'a stream that fails ends like a whole one',
    breaks: 'A stream that cannot be completed is cut',
    file: 'src/http/server/open-streams.ts',
    original: 'else response.socket.resetAndDestroy();',
    replacement: 'else response.end();',
    tests: ['test/paging/cut-streams.test.ts'],
  },
];
