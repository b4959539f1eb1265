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

/** More than this many are not worth reading at once. */
const MOST_PROBLEMS = 100;

/** Of a field's path and of a reason: both may repeat what stood in the input, which may be of any length. */
const LONGEST_QUOTE = 300;

/** The input was refused; nothing was written. Holds the first hundred problems. */
export class ImportRefusedError extends Error {
  override name = 'ImportRefusedError';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(describeProblem).join('\n'));
    this.problems = problems;
  }
}

/** `suppliers.ndjson:17: email: must be a string, or null` */
export function describeProblem({ file, line, field, reason }: Problem): string {
  return [line === null ? file : `${file}:${line}`, field, reason].filter((part) => part !== '').join(': ');
}

/** Collects problems, so that one run shows them all; gives up at a hundred. */
export class ProblemList {
  readonly #problems: Problem[] = [];

  /** @throws ImportRefusedError once there are a hundred. */
  add(problem: Problem): void {
    this.#problems.push({ ...problem, field: quote(problem.field), reason: quote(problem.reason) });
    if (this.#problems.length >= MOST_PROBLEMS) this.throwIfAny();
  }

  get isEmpty(): boolean {
    return this.#problems.length === 0;
  }

  /** @throws ImportRefusedError where there is one. */
  throwIfAny(): void {
    if (!this.isEmpty) throw new ImportRefusedError(this.#problems);
  }
}

function quote(text: string): string {
  return printable(text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text);
}
