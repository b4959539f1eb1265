/** Where a command says what it has to say: on stdout what was asked for, on stderr what there is to tell about it. */
export interface Output {
  readonly isJson: boolean;
  /** What the command was asked for: the text, or with `--json` the value. */
  result(value: unknown, text: string): void;
  /** What was done, in a sentence on stderr, or with `--json` the value on stdout. */
  done(value: unknown, sentence: string): void;
  /** A remark on stderr. */
  note(sentence: string): void;
}

/** The output of a command that runs in this process. */
export function processOutput(isJson: boolean): Output {
  const write = (text: string): void => void process.stdout.write(`${text}\n`);
  const note = (sentence: string): void => void process.stderr.write(`${sentence}\n`);
  const writeJson = (value: unknown): void => write(JSON.stringify(value, null, 2));
  return {
    isJson,
    note,
    result: (value, text) => (isJson ? writeJson(value) : write(text)),
    done: (value, sentence) => (isJson ? writeJson(value) : note(sentence)),
  };
}

/**
 * Rows as columns that stand under each other, the first row being the heading; names, which may be long, belong last.
 *
 * @param numeric the columns, counted from 0, whose cells end under each other.
 */
export function renderColumns(rows: readonly (readonly string[])[], numeric: readonly number[] = []): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  }
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          numeric.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
