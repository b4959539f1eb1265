import sparkly from 'sparkly';
import { reportUsage, reportUsageOf, type UsageLine, type UsageReport } from '../../usage/usage-report.ts';
import type { CommandContext } from '../context.ts';
import { renderColumns } from '../output/output.ts';
import { explain } from '../../access/explain.ts';
import { getPartnerRow } from '../../access/partner-admin.ts';
import { EVERYTHING } from '../../access/visibility/owners.ts';
import { OWNERS } from '../../access/visibility/rules.ts';
import { listAuditEntries } from '../../database/audit.ts';
import { compareBytewise } from '../../bytewise.ts';
import type { Kind } from '../../kinds.ts';
import { Tokenizer, wordMatcher } from '../../index/words.ts';

/** Maximum bars per chart; for more days, each bar covers several. */
const MAX_BARS = 60;

/** `pds usage [NAME]`: shows the requests of all partners, or of one by key and endpoint. */
export async function showUsage(
  { database, clock, output }: CommandContext,
  partner: string | undefined,
  { days }: { days: number },
): Promise<undefined> {
  if (partner === undefined) {
    const report = await reportUsage(database, clock, days);
    const cellsOf = (subject: { name: string; deletedAt: string | null }): string[] => [
      subject.deletedAt === null ? subject.name : `${subject.name} (deleted)`,
    ];
    output.result(reportJson(report, 'partners'), renderReport(report, ['PARTNER'], cellsOf));
  } else {
    const report = await reportUsageOf(database, clock, days, partner);
    const lines = renderReport(report, ['KEY ID', 'ENDPOINT'], ({ keyId, endpoint }) => [keyId, endpoint]);
    output.result({ partner, ...reportJson(report, 'keys') }, lines);
  }
}

function renderReport<Subject>(
  { days, lines, total }: UsageReport<Subject>,
  heading: readonly string[],
  cellsOf: (subject: Subject) => string[],
): string[] {
  const period = `${days[0] ?? ''} TO ${days.at(-1) ?? ''}`;
  const rows = [
    [...heading, 'REQUESTS', 'RECORDS', 'LIMITED', 'FAILED', period],
    ...lines.map((line) => [...cellsOf(line.subject), ...figuresOf(line)]),
    ['total', ...heading.slice(1).map(() => ''), ...figuresOf(total)],
  ];
  const numeric = [0, 1, 2, 3].map((column) => heading.length + column);
  return renderColumns(rows, numeric);
}

function figuresOf<Subject>({ days, requests, records, limited, failed }: UsageLine<Subject>): string[] {
  const figures = [requests, records, limited, failed].map((figure) => figure.toLocaleString('en-US'));
  return [...figures, chartOf(days.map((day) => day.requests))];
}

function chartOf(requestsByDay: readonly number[]): string {
  const daysOfABar = Math.ceil(requestsByDay.length / MAX_BARS);
  const bars: number[] = [];
  // Backwards from today, so that only the first bar can cover fewer days.
  for (let until = requestsByDay.length; until > 0; until -= daysOfABar) {
    bars.unshift(requestsByDay.slice(Math.max(0, until - daysOfABar), until).reduce((sum, day) => sum + day, 0));
  }
  return sparkly(bars, { minimum: 0 });
}

function reportJson({ days, lines, total }: UsageReport<object>, name: string): Record<string, unknown> {
  const withDays = ({ subject: _, ...line }: UsageLine<unknown>) => ({
    ...line,
    days: line.days.map((usage, index) => ({ day: days[index], ...usage })),
  });
  return {
    from: days[0],
    to: days.at(-1),
    [name]: lines.map((line) => ({ ...line.subject, ...withDays(line) })),
    total: withDays(total),
  };
}

const SHOWN_OF_A_LIST = 5;

/** `pds audit`: lists operators' changes of the last days, newest last. */
export async function showAudit(
  { database, clock, output }: CommandContext,
  { days, partner = null }: { days: number; partner?: string | null },
): Promise<undefined> {
  const changes = await listAuditEntries(database, clock, { days, partner });
  // A misspelled name would look like a partner without changes. A deleted partner has only changes.
  if (partner !== null && changes.length === 0) await getPartnerRow(database, partner);
  const heading = ['AT', 'BY', 'ACTION', 'PARTNER', 'KEY ID', 'DETAILS'];
  const rows = changes.map((change) => [
    ...[change.at, change.actor, change.action, change.partner ?? '-', change.keyId ?? '-'],
    describeDetails(change.details),
  ]);
  output.result({ changes }, renderColumns([heading, ...rows]));
}

/** `everything=true lead_entities=le_a,le_b`; nested details are in parentheses. */
function describeDetails(details: object): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}=${describeValue(value)}`)
    .join(' ');
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) {
    const items = value.slice(0, SHOWN_OF_A_LIST).map(describeValue).join(',');
    return value.length > SHOWN_OF_A_LIST ? `${items},… (${value.length} in total)` : items;
  }
  if (value === null) return '-';
  if (typeof value === 'object') return `(${describeDetails(value)})`;
  // Quoted if it could be mistaken for another name and value.
  return typeof value === 'string' && !/[\s=,()"]/.test(value) ? value : JSON.stringify(value);
}

/** Lines shown; `--json` has no more. */
const MAX_SHOWN = 50;

/**
 * `pds find lead-entity|coop TEXT`: lists ids and names, by name. Matches names as `q` of the API does: every word of
 * the text begins a word of the name, or has the same stem. Also matches ids that begin with the text. Returns 1 if nothing
 * matches, as `grep` does.
 */
export async function find({ database, output }: CommandContext, kind: string, words: readonly string[]) {
  const text = words.join(' ');
  const matches = matcherOf(text.trim());
  const owner = Object.values(OWNERS).find((each) => each.word === kind);
  if (owner === undefined) throw new Error(`there is no kind ${kind}`);
  const all = await database.kysely.selectFrom(owner.table).select(['id', 'name']).execute();
  const found = all.filter(matches).sort((a, b) => compareBytewise(a.name, b.name) || compareBytewise(a.id, b.id));
  if (found.length === 0) {
    const remark = `No ${kind} matches "${text}". Each word must begin a word of the name; try fewer or shorter words.`;
    output.result({ found, more: 0 }, [], remark);
    return 1;
  }
  const listed = found.slice(0, MAX_SHOWN);
  const more = found.length - listed.length;
  const lines = renderColumns([['ID', 'NAME'], ...listed.map(({ id, name }) => [id, name])]);
  output.result({ found: listed, more }, more > 0 ? [...lines, `and ${more} more`] : lines);
  return 0;
}

function matcherOf(text: string): (record: { id: string; name: string }) => boolean {
  const matches = wordMatcher(text);
  const tokenizer = new Tokenizer();
  return ({ id, name }) => (text !== '' && id.startsWith(text)) || matches(tokenizer.termText([name]));
}

/** `pds explain PARTNER KIND ID`. Returns 0 if the partner sees the record, otherwise 1. */
export async function explainRecord(
  { config, database, clock, output }: CommandContext,
  partner: string,
  kind: Kind,
  key: string,
): Promise<number> {
  const found = await explain(database, clock, partner, kind, key);
  const { id, sees, changedAt, lastRequest } = found;
  const by = found.by.map(({ grant, id: owner, contract, since }) => {
    const named = grant === EVERYTHING ? grant : `${OWNERS[grant].label} ${owner}`;
    return `${named}${contract === null ? '' : `, whose contract ${contract} names it`}, since ${since}`;
  });
  output.result(found, [
    `${partner} ${sees ? 'sees' : 'does not see'} ${kind} ${id}.`,
    ...renderColumns([
      ...by.map((text) => [sees ? 'by' : 'granted', text]),
      ...found.because.map(({ reason, instead }) => ['because', `${reason}: ${instead}`]),
      ['last changed', changedAt ?? '-'],
      ['last request', lastRequest ?? `none in ${config.usageRetentionDays} days`],
    ]),
  ]);
  return sees ? 0 : 1;
}
