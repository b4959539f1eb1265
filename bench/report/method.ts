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
export function methodText({ machine, settings }: Results): string {
  const pinned =
    machine?.isPinned === true
      ? 'The HTTP server under test has core 0 to itself. The load and PostgreSQL share core 1, for every server alike, so ' +
        'that what asks much of PostgreSQL is held back by it.'
      : 'Nothing was tied to a core here: this machine has one only, or no `taskset`.';
  const rounds =
    settings === null
      ? ''
      : `${settings.rounds} rounds of ${settings.seconds} seconds, ${settings.connections} connections kept open`;
  return `
- ${pinned}
- Load comes from ${machine?.loadGenerator ?? 'wrk'}: ${rounds}. Rounds are interleaved: every server once, then every
  server again. Quoted is the median of the rounds, with the lowest and the highest. A warm-up before is not counted.
  Nor are requests that are refused, and a round in which more than one in a hundred is says nothing and is left out.
- "Never asked before" means that: no address is asked twice of a server. A list, a search or a count gets a bound on
  deadlines that every deadline meets and that no other request has; details are of ever another record, and pages deep
  in a list begin after ever another record, by cursors that were gathered before with pages of one record. Where the
  market holds too few records, a round ends early.
- The service runs as an operator runs it: authentication, scope, rate limit, request id, ETag, and a line in a log file
  for each request. The baselines do none of that.
- The baselines stand on tables of their own in the same PostgreSQL: the same rows, in columns, with indexes for this
  work, vacuumed and analyzed. All do the same work: filter, embed the lead entity, order by id, 25 rows. Before a part
  is measured, the ids in their answers are compared.
- The hand-written minimum is \`node:http\` with \`pg\`, prepared statements, and JSON that PostgreSQL builds.
- Before a server starts on SQLite, its file is read once: it is measured from the memory of the system, as PostgreSQL
  is from its own.
- PostgreSQL is durable as in production; it runs without parallel queries and without JIT, which one core has no use
  for.
- CPU time is what the kernel counts for the server's processes, and for PostgreSQL's, during the round. PostgreSQL's is
  not counted for servers that do not use it.
- A count is measured for the first time in a process that has just started, has been warmed up with other counts, and was
  never asked for these words. It is measured again by another partner that sees the same, because the first partner's
  response is cached. Single responses of such processes, and holds of the event loop, are the shortest of three
  processes each, so that a pause of the machine is not taken for one of the service.
- A hold of the event loop is the longest iteration while a response is made, measured in the service's own process.
- Skewed data is a catalog of its own of 25 thousand solicitations: every combination of filters of every list and count,
  first pages and second ones, for four partners.
- One request at a time is measured by a client of \`node:http\` on core 1, whose own time is part of every figure.
- The data is invented, from a fixed seed: few lead entities with very many records and many with few, words by Zipf's
  law, descriptions from a line to several thousand characters.
`;
}
