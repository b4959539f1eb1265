import { printable } from '../printable.ts';

/** Something wrong with the input, told so that whoever made it can find it. */
export interface Problem {
  file: string;
  /** Counts from 1; null where it concerns the file as a whole. */
  line: number | null;
  /** The field as a path (`documents[0].name`); empty where it concerns the line as a whole. */
  field: string;
  reason: string;
  /** The value in the input, as {@link quoteValue} shows it. Kept apart from the reason, so that problems group without it. */
  found?: string;
}

/** A problem, and the other lines that have the same one. Its reason ends with the first value found. */
export interface ReportedProblem extends Omit<Problem, 'found'> {
  /** On how many lines, if on more than one; `line` is the first. */
  count?: number;
  /** The first of these lines. */
  lines?: number[];
}

/** More different ones than this are not worth reading at once. */
const MOST_PROBLEMS = 100;

/** The lines that are listed of problems that are the same. */
const MAX_LISTED_LINES = 5;

/** Of a field's path and of a reason: both may repeat what stood in the input, which may be of any length. */
const LONGEST_QUOTE = 300;

/** Of a value in a reason, in characters. */
const MAX_QUOTED_VALUE = 60;

/** The input was refused; nothing was written. Holds the first hundred different problems. */
export class ImportRefusedError extends Error {
  override name = 'ImportRefusedError';
  readonly problems: readonly ReportedProblem[];

  constructor(problems: readonly ReportedProblem[]) {
    const printed = problems.map(({ file, field, reason, ...others }) => ({
      ...{ file: printable(file), field: printable(field), reason: printable(reason) },
      ...others,
    }));
    super(printed.map(describeProblem).join('\n'));
    this.problems = printed;
  }

  /** How many were found, equal ones on several lines counted each. */
  get count(): number {
    return this.problems.reduce((sum, { count = 1 }) => sum + count, 0);
  }

  /** Whether reading stopped before the end, since there were too many. */
  get isCutShort(): boolean {
    return this.problems.length >= MOST_PROBLEMS;
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

/** Collects problems, so that one run shows them all; gives up at a hundred different ones. */
export class ProblemList {
  readonly #problems = new Map<string, ProblemGroup>();

  /**
   * Adds a problem. Those that differ only in their line, the position in a list or the value found are one.
   *
   * @throws ImportRefusedError once there are a hundred different ones.
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
    if (this.#problems.size >= MOST_PROBLEMS) this.throwIfAny();
  }

  get isEmpty(): boolean {
    return this.#problems.size === 0;
  }

  /** @throws ImportRefusedError where there is one. */
  throwIfAny(): void {
    if (!this.isEmpty) throw new ImportRefusedError(Array.from(this.#problems.values(), reportOf));
  }
}

/** Problems that are reported as one. */
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

/** A value of the input as a problem shows it: short, on one line, in quotes if it is text. */
export function quoteValue(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  return value.length > MAX_QUOTED_VALUE
    ? `${JSON.stringify(value.slice(0, MAX_QUOTED_VALUE).toWellFormed())}…`
    : JSON.stringify(value);
}

function shortened(text: string): string {
  return text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text;
}
