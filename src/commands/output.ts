import { printable, printableJson } from '../printable.ts';

/**
 * Text of one line, or of several. What is not printable is escaped in each, newlines included: a
 * name cannot command the terminal, nor look like another line.
 */
export type Lines = string | readonly string[];

/** Where a command says what it has to say: on stdout what was asked for, on stderr what there is to tell about it. */
export interface Output {
  readonly isJson: boolean;
  /** What the command was asked for: the text, or with `--json` the value. */
  result(value: unknown, text: Lines): void;
  /** What was done, in a sentence on stderr, or with `--json` the value on stdout. */
  done(value: unknown, sentence: Lines): void;
  /** A remark on stderr. */
  note(sentence: Lines): void;
}

/** The output of a command that runs in this process. */
export function processOutput(isJson: boolean): Output {
  return createOutput(isJson, process.stdout, process.stderr);
}

/** An output that writes to these streams. */
export function createOutput(
  isJson: boolean,
  stdout: Pick<NodeJS.WritableStream, 'write'>,
  stderr: Pick<NodeJS.WritableStream, 'write'>,
): Output {
  const write = (lines: Lines): void => void stdout.write(textOf(lines));
  const note = (lines: Lines): void => void stderr.write(textOf(lines));
  const writeJson = (value: unknown): void => void stdout.write(`${printableJson(JSON.stringify(value, null, 2))}\n`);
  return {
    isJson,
    note,
    result: (value, text) => (isJson ? writeJson(value) : write(text)),
    done: (value, sentence) => (isJson ? writeJson(value) : note(sentence)),
  };
}

function textOf(lines: Lines): string {
  return (typeof lines === 'string' ? [lines] : lines).map((line) => `${printable(line)}\n`).join('');
}

/**
 * Rows as lines with aligned columns, the first row being the heading; names, which may be long, belong last.
 *
 * @param numeric the columns, counted from 0, whose cells end under each other.
 */
export function renderColumns(rows: readonly (readonly string[])[], numeric: readonly number[] = []): string[] {
  const widths: number[] = [];
  const shown = rows.map((row) => row.map(printable));
  for (const row of shown) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  }
  return shown.map((row) =>
    row
      .map((cell, column) =>
        numeric.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}
