import sparkly from 'sparkly';
import { reportUsage, reportUsageOf, type Usage, type UsageLine, type UsageReport } from '../../usage/usage-report.ts';
import type { CommandContext } from '../context.ts';
import { renderColumns } from '../output/output.ts';

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
    const value = reportJson(report, 'partners', ({ partner: name, deletedAt }) => ({ name, deleted_at: deletedAt }));
    output.result(
      value,
      renderReport(report, ['PARTNER'], ({ partner: name, deletedAt }) => [
        deletedAt === null ? name : `${name} (deleted)`,
      ]),
    );
  } else {
    const report = await reportUsageOf(database, clock, days, partner);
    const value = reportJson(report, 'keys', ({ keyId, endpoint }) => ({ key_id: keyId, endpoint }));
    output.result(
      { partner, ...value },
      renderReport(report, ['KEY ID', 'ENDPOINT'], ({ keyId, endpoint }) => [keyId, endpoint]),
    );
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

/** Draws a bar per day, scaled to the busiest. */
function chartOf(requestsByDay: readonly number[]): string {
  const daysOfABar = Math.ceil(requestsByDay.length / MAX_BARS);
  const bars: number[] = [];
  // Backwards from today, so that only the first bar can cover fewer days.
  for (let until = requestsByDay.length; until > 0; until -= daysOfABar) {
    bars.unshift(requestsByDay.slice(Math.max(0, until - daysOfABar), until).reduce((sum, day) => sum + day, 0));
  }
  return sparkly(bars, { minimum: 0 });
}

function reportJson<Subject>(
  { days, lines, total }: UsageReport<Subject>,
  name: string,
  subjectJson: (subject: Subject) => object,
): Record<string, unknown> {
  const withDays = (line: UsageLine<unknown>) => ({
    ...usageJson(line),
    days: line.days.map((usage, index) => ({ day: days[index], ...usageJson(usage) })),
  });
  return {
    from: days[0],
    to: days.at(-1),
    [name]: lines.map((line) => ({ ...subjectJson(line.subject), ...withDays(line) })),
    total: withDays(total),
  };
}

function usageJson({ requests, records, limited, failed }: Usage): Usage {
  return { requests, records, limited, failed };
}
