import { format as formatSql } from 'sql-formatter';
import type { Engine } from '../../src/database/database.ts';
import { AREAS, type Area, type ServingStatement } from './serving-statements.ts';

const TITLES: Readonly<Record<Area, string>> = {
  index: 'Reading the index',
  pages: 'Pages of lists',
  records: 'Single records',
  lists: 'Reference lists and events',
  changes: 'The feed of changes',
  service: 'Partners, revisions and usage',
};

const PARAMETERS: Readonly<Record<string, string>> = {
  after: 'the id that a cursor names; empty for the first page',
  at: 'the time of the scrape',
  bytes: 'the most bytes that the texts of a page may have',
  coops: 'the coops that are granted',
  day: 'a date, as `2026-04-15`',
  days: 'dates, as `2026-04-15`',
  earlier: 'five seconds before `since`',
  endpoint: 'the route',
  environment: '`live` or `test`',
  event: 'one millisecond before `since`: when the event was if `since` is a watermark',
  failed: 'requests that failed',
  first: 'the position of the first record of the piece',
  found: 'the positions, or keys, of the records of the page, in their order',
  group: '`catalog` or `access`',
  id: 'the id of a record, or the `ref` of a solicitation',
  ids: 'ids of records',
  key_id: 'the public id of a key',
  kind: '`suppliers`, `contracts` or `solicitations`',
  kinds: 'the kinds that the listing has',
  last: 'the position of the last record of the piece',
  lead_entities: 'the lead entities that are granted',
  limit: 'the most terms to read of each range',
  limited: 'requests that were over the limit',
  name: 'the name of a setting',
  now: 'the time of the request',
  owners: 'as JSON, lists of a granted owner, the timestamp after which its departures count, and an id to start after',
  partner_id: 'the number of the partner',
  position: 'the position of a record',
  ranges: 'as JSON, lists of a block, two terms (from the first to before the second) and a number',
  records: 'records in the responses',
  requests: 'requests',
  rows: 'the most rows to read, or to read of each owner',
  since: 'the `updated_since` of the request',
  terms: 'as JSON, pairs of a block and a term',
  transaction: 'the number of the transaction that added usage',
};

const LANGUAGES = { sqlite: 'sqlite', postgres: 'postgresql' } as const;

const ENGINE_NAMES: Readonly<Record<Engine, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

type Statements = Readonly<Record<Engine, readonly ServingStatement[]>>;

/** The documents by file name. */
export function renderDocuments(statements: Statements): Map<string, string> {
  return new Map([
    ['README.md', renderOverview(statements)],
    ...AREAS.map((area) => [`${area}.md`, renderArea(area, statements)] as const),
  ]);
}

function renderOverview(statements: Statements): string {
  const rows = AREAS.map((area) => {
    const names = namesIn(area, statements).map((name) => `\`${name}\``);
    return `| [${TITLES[area]}](${area}.md) | ${names.join(', ')} |`;
  });
  return `# Statements

Every SQL statement that a serving process can run, as it runs on SQLite and on PostgreSQL, with its parameters.
\`npm run queries\` writes these files, and a test fails if they are not current, if the service runs a statement that
they do not show, or if one of them scans a table that grows. The statements of commands, such as an import, are not here.

- Parameters are written as \`:name\`. The service sends them as \`?\` and \`$1\`. A list is one parameter: JSON on SQLite, an
  array on PostgreSQL.

| Document | Statements |
| --- | --- |
${rows.join('\n')}
`;
}

function renderArea(area: Area, statements: Statements): string {
  const sections = namesIn(area, statements).map((name) => renderStatement(name, statements));
  return `# ${TITLES[area]}\n\nWritten by \`npm run queries\`; see [the overview](README.md).\n\n${sections.join('\n')}`;
}

function renderStatement(name: string, { sqlite, postgres }: Statements): string {
  const found = {
    sqlite: sqlite.find((statement) => statement.name === name),
    postgres: postgres.find((statement) => statement.name === name),
  };
  const first = found.sqlite ?? found.postgres;
  if (first === undefined) throw new Error(`no statement ${name}`);
  const parameters = [...new Set([...(found.sqlite?.parameters ?? []), ...(found.postgres?.parameters ?? [])])];
  const lines = parameters.toSorted().map((parameter) => {
    const meaning = PARAMETERS[parameter];
    if (meaning === undefined) throw new Error(`the parameter ${parameter} of ${name} has no description`);
    return `- \`:${parameter}\`: ${meaning}`;
  });
  const engines = (['sqlite', 'postgres'] as const).flatMap((engine) => {
    const statement = found[engine];
    if (statement === undefined) return [];
    return [{ name: ENGINE_NAMES[engine], sql: layOut(engine, statement) }];
  });
  const [one, other] = engines;
  const sqlOf = (sql: string): string => `\`\`\`sql\n${sql}\n\`\`\`\n`;
  const body =
    one !== undefined && one.sql === other?.sql
      ? [sqlOf(one.sql)]
      : engines.map(({ name: engine, sql }) => `**${engine}**\n\n${sqlOf(sql)}`);
  return [`## ${name}\n`, `${first.purpose}\n`, ...(lines.length === 0 ? [] : [`${lines.join('\n')}\n`]), ...body].join(
    '\n',
  );
}

/** Formats a statement, with named parameters. */
function layOut(engine: Engine, { text, parameters }: ServingStatement): string {
  let next = 0;
  const named = text.replaceAll(/\?|\$\d+/g, () => `:${parameters[next++] ?? ''}`);
  if (next !== parameters.length) throw new Error(`${next} parameters, and names of ${parameters.length}: ${text}`);
  return joinLines(
    formatSql(named, { language: LANGUAGES[engine], paramTypes: { named: [':'] }, expressionWidth: 100 }),
  );
}

const WIDTH = 112;

/** The formatter puts each clause on its own line: joins those that fit on one, innermost first. */
function joinLines(text: string): string {
  let lines = text.split('\n');
  for (let depth = Math.max(...lines.map(indentOf)); depth >= 0; depth -= 1) {
    const joined: string[] = [];
    for (let index = 0; index < lines.length;) {
      const line = lines[index] ?? '';
      let end = index + 1;
      while (indentOf(lines[end] ?? '') > indentOf(line)) end += 1;
      // A bracket with its clauses, or a clause with everything that belongs to it.
      const hasBracket = line.endsWith('(');
      if (hasBracket && indentOf(lines[end] ?? '') === indentOf(line)) end += 1;
      const all = lines.slice(index, end).map((part) => part.trim());
      const flat = ' '.repeat(indentOf(line)) + all.join(' ').replaceAll('( ', '(').replaceAll(' )', ')');
      const fits =
        indentOf(line) === depth &&
        end > index + 1 &&
        flat.length <= WIDTH &&
        (hasBracket || isOneItem(lines.slice(index + 1, end)));
      joined.push(...(fits ? [flat] : [line]));
      index = fits ? end : index + 1;
    }
    lines = joined;
  }
  return lines.join('\n');
}

function isOneItem(lines: readonly string[]): boolean {
  return lines.length === 1 || !lines.some((line) => line.endsWith(','));
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

function namesIn(area: Area, { sqlite, postgres }: Statements): string[] {
  return [...new Set([...sqlite, ...postgres].filter((statement) => statement.area === area).map(({ name }) => name))];
}
