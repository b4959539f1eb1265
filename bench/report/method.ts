import type { Results } from '../measure/results.ts';
import type { Figures } from './figures.ts';

/** Renders the machine, the versions and the dates as a Markdown list. */
export function machineText({ machine, parts }: Results): string {
  if (machine === null) return '';
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
  const days = parts.map(({ measuredAt }) => measuredAt.slice(0, 10)).sort();
  const commits = [...new Set(parts.map(({ commit }) => commit))];
  return [
    `- ${machine.cores} cores (${machine.cpu}), ${machine.memoryGigabytes} GB of memory, ${machine.kernel}`,
    `- ${versions.join(', ')}`,
    `- measured ${[...new Set([days[0], days.at(-1)])].join(' to ')} (UTC), at commit ${commits.join(', ')}`,
  ].join('\n');
}

/** Renders the description of the method. */
export function methodText({ machine, parts }: Results, figures: Figures): string {
  const rounds = parts.map(
    ({ thoroughness: one }) => `${one.rounds} rounds of ${one.seconds} seconds, ${one.connections} open connections`,
  );
  const pinned =
    machine?.isPinned === true
      ? 'The server under test has core 0 to itself. wrk and PostgreSQL share core 1, for every server, so a server that ' +
        'leaves more of its work to PostgreSQL uses both cores. **CPU µs** is the time of server and PostgreSQL together.'
      : 'Nothing was pinned to a core: this machine has only one, or no `taskset`.';
  const spread = figures.spread('requests/s');
  const percent = (share: number): string => `${Math.ceil(share * 100)} %`;
  const noise =
    spread === null
      ? ''
      : ` Between its rounds, half of the figures range over less than ${percent(spread.half)} of the median, nine ` +
        `tenths over less than ${percent(spread.nineTenths)}: read smaller differences as none.`;
  return `
- ${pinned}
- wrk sends ${[...new Set(rounds)].join('; ')}. Rounds are interleaved: every server once, then every server again, after a
  warm-up that is not counted. Tables show medians; sentences have the median of the ratios round by round, since the machine
  has slow phases; \`results.json\` has the value of each round.${noise}
- This service runs as in production: keys, scope, limits, request IDs, entity tags, and a line in a log file for each
  request. The other servers do none of that, and have tables of their own in the same PostgreSQL: the same rows in columns,
  with indexes for this work, vacuumed and analyzed. PostgreSQL is durable; parallel queries and JIT are off, as they do not
  help on one core.
- "A hand-written minimum" is \`node:http\` with \`pg\`, prepared statements, and JSON that PostgreSQL builds. A server is
  only compared if it sends the same records in the same order; Platformatic DB does so without the embedded lead entity,
  and each search has its own words.
- No server gets the same URL twice, except in "The same page again". A server that does not support a request is not in
  its table.
- One at a time: a client on core 1, whose time is part of the figure. A count's first time is in a new process that has never
  seen these words; the second is by another partner, as the first one's response is cached.
- Wait of another partner: one partner requests new list pages one at a time. Meanwhile another reads a stream, or requests
  every combination of filters of every list, for the first time.
- Streams are discarded, as the rows of COPY are, by a client on core 1; those in zstd and of the feed are saved.
- Copies: SQLite files written by the mirror, with the service beside it. Of a product that needs more than a minute to send
  everything, what it has sent by then counts.
- The data is generated from a fixed seed: few lead entities with very many records and many with few, words by Zipf's law,
  descriptions from one line to several thousand characters.
- Databases are read into the operating system's memory before each kind of work, but only after commit 23459842: in figures of
  that one, of a million above all, some pages came from the disk, and each round began with the same server.
`;
}
