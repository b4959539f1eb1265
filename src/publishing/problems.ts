import { printable } from '../printable.ts';

/** A problem in the input, described so that its author can find it. */
export interface Problem {
  file: string;
  /** Counts from 1; null if the problem concerns the whole file. */
  line: number | null;
  /** The field's path (`documents[0].name`); empty if the problem concerns the whole line. */
  field: string;
  reason: string;
  /** The value, as {@link quoteValue} formats it. Not in the reason, so that problems are grouped without it. */
  found?: string;
}

/** A problem of a whole file. */
export function problemOf(file: string, reason: string): Problem {
  return { file, line: null, field: '', reason };
}

/** A group of equal problems. The reason ends with the first value found. */
interface ReportedProblem extends Omit<Problem, 'found'> {
  /** The number of lines, if more than one; `line` is the first. */
  count?: number;
  /** The first of these lines. */
  lines?: number[];
}

/** Reading stops at this many distinct problems, and no more are reported. */
export const MAX_PROBLEMS = 100;

const MAX_LISTED_LINES = 5;

/** Maximum characters of a field path or reason: both can repeat input of any length. */
const MAX_QUOTE_LENGTH = 300;

/** Maximum characters of a quoted value. */
const MAX_QUOTED_VALUE = 60;

/** The input was refused; nothing was written. Holds up to 100 distinct problems. */
export class ImportRefusedError extends Error {
  readonly problems: readonly ReportedProblem[];

  constructor(problems: readonly ReportedProblem[]) {
    const printed = problems.map(({ file, field, reason, ...others }) => ({
      file: printable(file),
      field: printable(field),
      reason: printable(reason),
      ...others,
    }));
    super(printed.map(describeProblem).join('\n'));
    this.problems = printed;
  }

  /** The number of problems, counting each line of a group. */
  get count(): number {
    return this.problems.reduce((sum, { count = 1 }) => sum + count, 0);
  }

  /** Whether reading stopped early because there were too many. */
  get isCutShort(): boolean {
    return this.problems.length >= MAX_PROBLEMS;
  }
}

/**
 * `suppliers.ndjson:17: email: must be a string, or null; found 7`, and if several lines have the same problem
 * `suppliers.ndjson: email: must be a string, or null; found 7 and others (12 lines: 1, 2, 3, 4, 5, …)`.
 */
export function describeProblem({ file, line, field, reason, count = 1, lines = [] }: ReportedProblem): string {
  const place = line === null || count > 1 ? file : `${file}:${line}`;
  const described = [place, field, reason].filter((part) => part !== '').join(': ');
  if (count === 1) return described;
  return `${described} (${count} lines: ${lines.join(', ')}${count > lines.length ? ', …' : ''})`;
}

/** Collects problems, so that one run reports them all. */
export class ProblemList {
  readonly #problems = new Map<string, ProblemGroup>();

  /**
   * Adds a problem, grouped with those that differ only in the line, list index or value found.
   *
   * @throws ImportRefusedError once there are 100 distinct ones.
   */
  add({ found, ...problem }: Problem): void {
    const { file, line } = problem;
    const [field, reason] = [shortened(problem.field), shortened(problem.reason)];
    const key = JSON.stringify([file, withoutPlaces(field), reason]);
    const same = this.#problems.get(key);
    if (same === undefined) {
      const reported = { ...problem, field, reason };
      this.#problems.set(key, { reported, lastLine: line, found, hasOtherValues: false });
    } else {
      if (same.reported.field !== field) same.reported.field = withoutPlaces(field);
      if (line !== same.lastLine) addLine(same.reported, line);
      same.lastLine = line;
      same.hasOtherValues ||= found !== same.found;
    }
    if (this.#problems.size >= MAX_PROBLEMS) this.throwIfAny();
  }

  get isEmpty(): boolean {
    return this.#problems.size === 0;
  }

  /** @throws ImportRefusedError if there are problems. */
  throwIfAny(): void {
    if (!this.isEmpty) throw new ImportRefusedError(Array.from(this.#problems.values(), reportOf));
  }
}

interface ProblemGroup {
  readonly reported: ReportedProblem;
  lastLine: number | null;
  /** The first value found. */
  readonly found: string | undefined;
  hasOtherValues: boolean;
}

function reportOf({ reported, found, hasOtherValues }: ProblemGroup): ReportedProblem {
  if (found === undefined) return reported;
  const reason = shortened(`${reported.reason}; found ${found}`);
  return { ...reported, reason: hasOtherValues ? `${reason} and others` : reason };
}

function addLine(problem: ReportedProblem, line: number | null): void {
  if (line === null || problem.line === null) return;
  problem.lines ??= [problem.line];
  problem.count = (problem.count ?? 1) + 1;
  if (problem.lines.length < MAX_LISTED_LINES) problem.lines.push(line);
}

/** `documents[3].name` → `documents[].name`. */
function withoutPlaces(field: string): string {
  return field.replaceAll(/\[\d+\]/g, '[]');
}

/** Formats an input value for a problem: short, on one line, text in quotes. */
export function quoteValue(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  return value.length > MAX_QUOTED_VALUE
    ? `${JSON.stringify(value.slice(0, MAX_QUOTED_VALUE).toWellFormed())}…`
    : JSON.stringify(value);
}

function shortened(text: string): string {
  return text.length > MAX_QUOTE_LENGTH ? `${text.slice(0, MAX_QUOTE_LENGTH)}…` : text;
}
