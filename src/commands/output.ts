import { printable, printableJson } from '../printable.ts';

/**
 * One line of text, or several. Non-printable characters in each are escaped, including newlines: a name can neither
 * control the terminal nor look like another line.
 */
export type Lines = string | readonly string[];

/** A command's output: results on stdout, remarks on stderr. */
export interface Output {
  readonly isJson: boolean;
  /** The result: text, or the value with `--json`. */
  result(value: unknown, text: Lines): void;
  /** Reports what was done: a sentence on stderr, or the value on stdout with `--json`. */
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
 * Renders rows as lines with aligned columns. The first row is the heading. Put names, which can be long, last.
 *
 * @param numeric right-aligned columns, counted from 0.
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
