import { sql } from 'kysely';
import { formerName, getPartnerRow } from '../access/partner-admin.ts';
import type { Database } from '../database/database.ts';
import type { UsageRow } from '../database/tables.ts';
import { lastDays, type Clock } from '../timestamp.ts';
import { COUNTS } from './usage-store.ts';

type Usage = Readonly<Pick<UsageRow, (typeof COUNTS)[number]>>;

/** Usage of one partner, or of one key and endpoint: in total, and per day of the report in order. */
export interface UsageLine<Subject> extends Usage {
  readonly subject: Subject;
  readonly days: readonly Usage[];
}

export interface UsageReport<Subject> {
  /** UTC days such as `2026-04-15`, ending today. */
  readonly days: readonly string[];
  /** In descending order of requests. */
  readonly lines: readonly UsageLine<Subject>[];
  readonly total: UsageLine<null>;
}

/**
 * Each partner's usage over the last days, in UTC. Partners without requests are included with zeros, deleted ones only
 * with requests. Served by the primary key.
 */
export async function reportUsage({ kysely }: Database, clock: Clock, dayCount: number) {
  const days = lastDays(clock(), dayCount);
  const sums = COUNTS.map(
    (column) => sql`cast(coalesce(sum(${sql.ref(`used.${column}`)}), 0) as bigint) as ${sql.ref(column)}`,
  );
  const { rows } = await sql<Usage & { name: string; deleted_at: string | null; day: string | null }>`
    select partner.name, partner.deleted_at, used.day, ${sql.join(sums)}
    from access.partners as partner
    left join access.usage as used on used.partner_id = partner.id and used.day >= ${days[0] ?? ''}
    where partner.deleted_at is null or used.day is not null
    group by partner.name, partner.deleted_at, used.day`.execute(kysely);
  return toReport(days, rows, ({ name, deleted_at: deletedAt }) => ({
    name: deletedAt === null ? name : formerName(name),
    deletedAt,
  }));
}

/** A partner's usage over the last days, by key and endpoint. @throws OperatorError if there is no such partner. */
export async function reportUsageOf(database: Database, clock: Clock, dayCount: number, partnerName: string) {
  const days = lastDays(clock(), dayCount);
  const { id } = await getPartnerRow(database, partnerName);
  const { rows } = await sql<UsageRow>`select * from access.usage
    where partner_id = ${id} and day >= ${days[0] ?? ''}`.execute(database.kysely);
  return toReport(days, rows, ({ key_id: keyId, endpoint }) => ({ keyId, endpoint }));
}

function toReport<Row extends Usage & { day: string | null }, Subject extends object>(
  days: readonly string[],
  rows: readonly Row[],
  subjectOf: (row: Row) => Subject,
): UsageReport<Subject> {
  // A future day was written by a machine whose clock is ahead.
  const known = rows.filter(({ day }) => day === null || day <= (days.at(-1) ?? ''));
  const bySubject = Map.groupBy(known, (row) => JSON.stringify(subjectOf(row)));
  const lines = [...bySubject].map(([subject, rowsOfIt]) => toLine(days, rowsOfIt, JSON.parse(subject) as Subject));
  const nameOf = ({ subject }: UsageLine<Subject>): string => Object.values(subject).join(' ');
  lines.sort((a, b) => b.requests - a.requests || (nameOf(a) < nameOf(b) ? -1 : 1));
  return { days, lines, total: toLine(days, known, null) };
}

function toLine<Subject>(days: readonly string[], rows: readonly (Usage & { day: string | null })[], subject: Subject) {
  const byDay = Map.groupBy(rows, ({ day }) => day);
  return { subject, ...sumOf(rows), days: days.map((day) => sumOf(byDay.get(day) ?? [])) };
}

function sumOf(parts: readonly Usage[]): Usage {
  const sum = { requests: 0, records: 0, limited: 0, failed: 0 };
  for (const part of parts) for (const figure of COUNTS) sum[figure] += part[figure];
  return sum;
}
