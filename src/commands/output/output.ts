import { styleText, type InspectColor } from 'node:util';
import { printable, printableJson } from '../../printable.ts';

/**
 * One line of text, or several. Non-printable characters in each are escaped, including newlines: a name can neither
 * control the terminal nor look like another line.
 */
export type Lines = string | readonly string[];

/** A command's output: results on stdout, remarks on stderr. */
export type Output = ReturnType<typeof createOutput>;

/** The output of a command that runs in this process. */
export function processOutput(isJson: boolean): Output {
  return createOutput(isJson, process.stdout, process.stderr);
}

export function createOutput(isJson: boolean, stdout: NodeJS.WritableStream, stderr: NodeJS.WritableStream) {
  const write = (lines: Lines): void => void stdout.write(textOf(lines, stdout));
  const note = (lines: Lines): void => void stderr.write(textOf(lines, stderr));
  const writeJson = (value: unknown): void =>
    void stdout.write(`${printableJson(JSON.stringify(inSnakeCase(value), null, 2))}\n`);
  return {
    isJson,
    note,
    /** The result: text and possibly a remark on stderr, or with `--json` only the value, its fields in snake_case. */
    result(value: unknown, text: Lines, remark: Lines = []): void {
      if (isJson) {
        writeJson(value);
      } else {
        write(text);
        note(remark);
      }
    },
    /**
     * A result of any length, written as it is read: lines of text, or with `--json` the value, with the items as its
     * last field. Only one of the two forms of the items is read.
     */
    async list(
      value: object,
      field: string,
      { json, text }: { json: () => Iterable<string>; text: () => Iterable<string> },
    ): Promise<void> {
      for (const part of isJson ? listAsJson(inSnakeCase(value), field, json()) : text()) {
        const isRoom = stdout.write(isJson ? printableJson(part) : textOf(part, stdout));
        if (!isRoom) await new Promise((resolve) => stdout.once('drain', resolve));
      }
    },
    /** Reports what was done: a sentence on stderr, or the value on stdout with `--json`. */
    done: (value: unknown, sentence: Lines): void => (isJson ? writeJson(value) : note(sentence)),
  };
}

/** The value with the names of its fields in snake_case, at every depth. Names that are no camelCase words stay. */
function inSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inSnakeCase);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [snakeCase(name), inSnakeCase(inner)]));
}

function snakeCase(name: string): string {
  return /^[a-z][A-Za-z]*$/.test(name) ? name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`) : name;
}

function* listAsJson(value: unknown, field: string, items: Iterable<string>): Generator<string> {
  yield JSON.stringify(value, null, 2).replace(/\n\}$/, `,\n  ${JSON.stringify(field)}: [`);
  let separator = '\n    ';
  for (const item of items) {
    yield `${separator}${item}`;
    separator = ',\n    ';
  }
  yield `${separator.startsWith(',') ? '\n  ' : ''}]\n}\n`;
}

function textOf(lines: Lines, stream: NodeJS.WritableStream): string {
  return (typeof lines === 'string' ? [lines] : lines).map((line) => `${paint(printable(line), stream)}\n`).join('');
}

/** Colors of outcomes at the beginning of a line, of tables' headings, and of states in their cells. */
const COLORS: readonly (readonly [RegExp, InspectColor | InspectColor[]])[] = [
  [/^(?:error:|FAIL\b)/, ['bold', 'red']],
  [/^(?:[Ww]arning:|WARN(?:ING)?\b)/, ['bold', 'yellow']],
  [/^ok(?= )/, 'green'],
  [/^ {2}\+(?= )/, 'green'],
  [/^ {2}~(?= )/, 'yellow'],
  [/^ {2}-(?= )/, 'red'],
  [/^[A-Z][A-Z ]*(?: {2,}[A-Z0-9 -]+)+$/, 'bold'],
  [/(?<= {2})active(?= {2}|$)/, 'green'],
  [/(?<= {2})(?:suspended|revoked|expired)(?= {2}|$)/, 'red'],
];

/** Colors a line if its stream shows colors: a terminal, `FORCE_COLOR`, and no `NO_COLOR`. */
function paint(line: string, stream: NodeJS.WritableStream): string {
  return COLORS.reduce(
    (painted, [part, format]) => painted.replace(part, (text) => styleText(format, text, { stream })),
    line,
  );
}

/**
 * Renders rows as lines with aligned columns, `numeric` ones, counted from 0, at the right. The first row is the heading.
 * Put names, which can be long, last.
 */
export function renderColumns(rows: readonly (readonly string[])[], numeric: readonly number[] = []): string[] {
  const widths: number[] = [];
  const cells = rows.map((row) => row.map(printable));
  for (const row of cells) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  }
  const pad = (cell: string, column: number): string =>
    numeric.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  return cells.map((row) => row.map(pad).join('  ').trimEnd());
}
