import type { MachineDescription } from '../machine/description.ts';
import type { Results } from '../measure/results.ts';

/** Renders the machine and the versions as a Markdown list. */
export function machineText(machine: MachineDescription): string {
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `- ${machine.cores} cores (${machine.cpu}), ${machine.memoryGigabytes} GB of memory, ${machine.kernel}`,
    `- ${versions.join(', ')}`,
  ].join('\n');
}

/** Renders the description of the method. */
export function methodText({ machine, settings, measurements }: Results): string {
  const roundCounts = measurements.filter(({ unit }) => unit === 'requests/s').map(({ values }) => values.length);
  const [fewest, most] = [Math.min(...roundCounts), Math.max(...roundCounts)];
  const pinned =
    machine?.isPinned === true
      ? 'The HTTP server under test has core 0 to itself. The load generator and PostgreSQL share core 1, for every server, ' +
        'so a server that needs much of PostgreSQL is slowed down by the load.'
      : 'Nothing was pinned to a core: this machine has only one, or no `taskset`.';
  const rounds =
    settings === null
      ? ''
      : `${fewest === most ? fewest : `${fewest} to ${most}`} rounds of ${settings.seconds} seconds, ${settings.connections} open connections`;
  return `
- ${pinned}
- Load comes from ${machine?.loadGenerator ?? 'wrk'}: ${rounds}. Rounds are interleaved: every server once, then every
  server again. The tables show the median of the rounds, with the lowest and the highest. A warm-up comes first and is not
  counted. A round in which more than one request in a hundred is refused is discarded.
- "Never asked before": no server gets the same URL twice. Lists, searches and counts get a bound on deadlines that every
  deadline meets and no other request has; each detail is another record; each page deep in a list begins after another
  record. If the data has too few records, a round ends early.
- The service runs as in production: authentication, scope, rate limit, request ID, ETag, and a line in a log file for
  each request. The baselines do none of that.
- The baselines have tables of their own in the same PostgreSQL: the same rows, in columns, with indexes for this work,
  vacuumed and analyzed. All servers do the same work: filter, embed the lead entity, order by id, 25 rows. The ids in
  their responses are compared first.
- The hand-written minimum is \`node:http\` with \`pg\`, prepared statements, and JSON that PostgreSQL builds.
- SQLite's file is read once before a server starts, so both databases are measured from the operating system's memory.
- PostgreSQL is as durable as in production. Parallel queries and JIT are off, as they do not help on one core.
- CPU time is the kernel's count for the server's processes, and for PostgreSQL's, during the round. PostgreSQL's is not
  counted for servers that do not use it.
- A count's first time is in a new process, warmed up with other counts, that has never seen these words. Its second time is
  by another partner with the same scope, because the first partner's response is cached. Single responses of such
  processes, and blocks of the event loop, are the shortest of three processes, so that a pause of the machine does not
  count.
- A hold of the event loop is its longest iteration during a request, measured in the service's own process.
- Skewed data is a separate catalog of 25 thousand solicitations: every combination of filters of every list and count,
  first and second pages, for four partners.
- Requests sent one at a time come from a \`node:http\` client on core 1, whose own time is part of every figure.
- The data is generated from a fixed seed: few lead entities with very many records and many with few, words by Zipf's law,
  descriptions from one line to several thousand characters.
`;
}
