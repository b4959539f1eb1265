import { SYNC, type Mutant } from './mutant.ts';

const STOPS = 'A stop fails no request that is read, and ends in time';

/** Faults in streams, and in what happens to them when a process stops. */
export const STREAMS: readonly Mutant[] = [
  {
    name: 'a stream of which nothing is read is kept',
    breaks: 'A stream of which nothing is read for 30 seconds is cut',
    file: 'src/http/server/open-streams.ts',
    original: '} else if (nowMs - sinceMs > this.#unreadMs) {',
    replacement: '} else if (nowMs < sinceMs) {',
    tests: ['test/paging/slow-readers.test.ts'],
  },
  {
    name: 'a stop waits for streams that nobody reads',
    breaks: STOPS,
    file: 'src/http/server/server.ts',
    original: 'const timer = setTimeout(() => cutRest(app, connections), announcedAtMs + drainMs - performance.now());',
    replacement: 'const timer = setTimeout(() => cutRest(app, connections), announcedAtMs + 100 * drainMs);',
    tests: ['test/paging/slow-readers.test.ts'],
  },
  {
    name: 'the link of a stream loses what follows a second question mark',
    breaks: SYNC,
    file: 'src/paging/stream.ts',
    original: 'new URLSearchParams(queryOf(request.originalUrl))',
    replacement: "new URLSearchParams(queryOf(request.originalUrl).split('?')[0])",
    tests: ['test/conformance/streams.test.ts'],
  },
  {
    name: 'a replica gives a watermark before the updated_since that was sent',
    breaks: SYNC,
    file: 'src/paging/stream.ts',
    original: 'const seen = since?.seen ?? firstRow(',
    replacement: 'const seen = firstRow(',
    tests: ['test/cluster/replicas.postgres.test.ts'],
    project: 'postgres',
  },
  {
    name: 'departures that were examined cost nothing',
    breaks: "One unit of a partner's limit pays for a bounded amount of work",
    file: 'src/paging/send-changes.ts',
    original: 'const examined = row.total + begun.departures.examined;',
    replacement: 'const examined = row.total;',
    tests: ['test/sync/feed-departures.test.ts'],
  },
];
