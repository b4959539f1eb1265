import { printable } from '../printable.ts';

/** Something wrong with the input, told so that whoever made it can find it. */
export interface Problem {
  file: string;
  /** Counts from 1; null where it concerns the file as a whole. */
  line: number | null;
  /** The field as a path (`documents[0].name`); empty where it concerns the line as a whole. */
  field: string;
  reason: string;
}

/** A problem, and the other lines on which the same was found. */
export interface ReportedProblem extends Problem {
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
 * `suppliers.ndjson:17: email: must be a string, or null; found 7`, and of several that are the same
 * `suppliers.ndjson: email: must be a string, or null; found 7 (12 lines: 1, 2, 3, 4, 5, …)`.
 */
export function describeProblem({ file, line, field, reason, count = 1, lines = [] }: ReportedProblem): string {
  const place = line === null || count > 1 ? file : `${file}:${line}`;
  const described = [place, field, reason].filter((part) => part !== '').join(': ');
  if (count === 1) return described;
  return `${described} (${count} lines: ${lines.join(', ')}${count > lines.length ? ', …' : ''})`;
}

/** Collects problems, so that one run shows them all; gives up at a hundred different ones. */
export class ProblemList {
  readonly #problems = new Map<string, { reported: ReportedProblem; lastLine: number | null }>();

  /** @throws ImportRefusedError once there are a hundred different ones. */
  add(problem: Problem): void {
    const [field, reason] = [shortened(problem.field), shortened(problem.reason)];
    const key = JSON.stringify([problem.file, withoutPlaces(field), reason]);
    const same = this.#problems.get(key);
    if (same === undefined)
      this.#problems.set(key, { reported: { ...problem, field, reason }, lastLine: problem.line });
    else {
      if (same.reported.field !== field) same.reported.field = withoutPlaces(field);
      if (problem.line !== same.lastLine) addLine(same.reported, problem.line);
      same.lastLine = problem.line;
    }
    if (this.#problems.size >= MOST_PROBLEMS) this.throwIfAny();
  }

  get isEmpty(): boolean {
    return this.#problems.size === 0;
  }

  /** @throws ImportRefusedError where there is one. */
  throwIfAny(): void {
    if (!this.isEmpty) throw new ImportRefusedError(Array.from(this.#problems.values(), ({ reported }) => reported));
  }
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

/** A value of the input as a reason shows it: short, on one line, in quotes if it is text. */
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
