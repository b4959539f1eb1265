/*
 * Search entries hold more than words: marks of what the record is, so that a search within a
 * scope or with filters is an intersection in the index, and not a look at each record.
 *
 * A mark begins with `=`, a letter and another `=`. Words have no such sign, and stems one at most.
 */

/** What entries have to be marked with: one mark of each list. */
export type Marks = readonly (readonly string[])[];

/** When solicitations close, both ends included; null for one that is open. */
export interface DeadlineWindow {
  readonly after: string | null;
  readonly before: string | null;
}

/** The status of a solicitation. */
export function statusMark(status: string): string {
  return `=s=${status}`;
}

/** The lead entity that a record belongs to. */
export function leadEntityMark(id: string): string {
  return `=l=${hexOf(id)}`;
}

/** The coop of a contract. */
export function coopMark(id: string): string {
  return `=c=${hexOf(id)}`;
}

/** Ids know upper from lower case, and hold characters at which FTS5 ends a token. */
function hexOf(id: string): string {
  return Buffer.from(id).toString('hex');
}

/** Of `20261121`, the beginnings that are marks: millennium, century, decade, year, month and day. */
const PERIODS = [1, 2, 3, 4, 6, 8];
const DAY = 8;

/** The periods in which a solicitation closes; none for one without a deadline. */
export function deadlineMarks(closeAt: string | null): string[] {
  if (closeAt === null) return [];
  const day = dayOf(closeAt);
  return PERIODS.map((length) => deadlineMark(day.slice(0, length)));
}

/** The marks of all deadlines in a window. */
export interface DeadlineCover {
  /** Of periods that lie in the window as a whole. */
  readonly within: readonly string[];
  /** Of the days in which it begins and ends: what closes then may lie in it. */
  readonly edges: readonly string[];
}

/**
 * Covers a window with as few periods as there are.
 *
 * @param window both ends included; null for one that is open.
 * @param range the first and the last deadline that there is: periods outside are left out. Null where there is none.
 */
export function coverDeadlines(
  { after, before }: DeadlineWindow,
  range: { readonly first: string | null; readonly last: string | null },
): DeadlineCover {
  const within: string[] = [];
  const edges: string[] = [];
  if (range.first === null || range.last === null) return { within, edges };
  const days = [after, before, range.first, range.last].map((instant) => (instant === null ? '' : dayOf(instant)));
  const cover = (period: string): void => {
    const [begin = '', end = '', first = '', last = ''] = days.map((day) => day.slice(0, period.length));
    if (period < first || period > last || (begin !== '' && period < begin) || (end !== '' && period > end)) return;
    if (period !== begin && period !== end && period !== '') within.push(deadlineMark(period));
    else if (period.length === DAY) edges.push(deadlineMark(period));
    else for (const part of partsOf(period)) cover(part);
  };
  cover('');
  return { within, edges };
}

const DIGITS = Array.from({ length: 10 }, (_, digit) => String(digit));
const MONTHS = Array.from({ length: 12 }, (_, month) => String(month + 1).padStart(2, '0'));
const DAYS = Array.from({ length: 31 }, (_, day) => String(day + 1).padStart(2, '0'));

/** The next shorter periods in a period. */
function partsOf(period: string): string[] {
  const parts = period.length === 4 ? MONTHS : period.length === 6 ? DAYS : DIGITS;
  return parts.map((part) => period + part);
}

function deadlineMark(period: string): string {
  return `=d=${period}`;
}

function dayOf(instant: string): string {
  return instant.slice(0, 10).replaceAll('-', '');
}
