import { InputError } from '../input-error.ts';
import { DELIMITERS, findHeader, parseCsv, type CsvRow } from './parse-csv.ts';
import { quoted, repeatedIn } from './read-rows.ts';

/** How many different values of a column are looked at, and up to which length. */
const MAX_VALUES = 1000;
const MAX_VALUE_LENGTH = 1000;

/** The first text in a row of totals, or in a remark below the table. */
const TOTALS =
  /total\b|^(count|records?|rows?)\b|\b(records|rows)$|^(end of|generated|printed|exported|report|page)\b/i;

/** A file's format and columns, for a sketch. */
export interface Columns {
  /** The settings of the file that its content needs. */
  settings: object;
  columns: readonly string[];
  /** The different values of a column, without blanks. */
  valuesOf: (column: string) => string[];
  /** Sentences about other guesses. */
  remarks: string[];
}

/** @throws InputError if the file is no CSV, or two of its columns have one name. */
export function readColumns(path: string): Promise<Columns> {
  return columnsOf(path, null).catch((error: unknown) => {
    if (error instanceof InputError && error.cause instanceof TypeError) return columnsOf(path, 'windows-1252');
    throw error;
  });
}

async function columnsOf(path: string, encoding: string | null): Promise<Columns> {
  const found = await findHeader(path, encoding, DELIMITERS, likelinessOf);
  if (found === undefined) throw new InputError(`${path} is empty: it needs a row of column names`);
  const { delimiter, header } = found;
  const columns = header.cells;
  const repeated = repeatedIn(columns);
  if (repeated.length > 0)
    throw new InputError(`${path} has the column ${quoted(repeated)} twice; give each a name of its own`);
  const values = new Map(columns.map((column) => [column, new Set<string>()]));
  /** Rows that are no records: subtotals, and the end of the table; `*` in place of numbers. */
  const totals: { column: string; pattern: string; number: number }[] = [];
  let lastRecord = 0;
  for await (const { cells, number } of parseCsv(path, encoding, delimiter)) {
    const [first = -1, ...others] = cells.flatMap((cell, index) => (cell === '' ? [] : [index]));
    if (number <= header.number || first === -1 || columns.every((name, index) => name === cells[index])) continue;
    const text = cells[first] ?? '';
    const isSparse = (others.length + 1) * 2 <= columns.length + 1;
    if (isSparse && TOTALS.test(text) && totals.length < MAX_VALUES) {
      totals.push({ column: columns[first] ?? '', pattern: text.replaceAll(/\d[\d.,:/-]*/g, '*'), number });
      continue;
    }
    const isBelow = (totals.at(-1)?.number ?? 0) > lastRecord;
    if (others.length > 0 || !isBelow) lastRecord = number;
    for (const [index, value] of cells.entries()) {
      const known = values.get(columns[index] ?? '');
      if (value !== '' && value.length <= MAX_VALUE_LENGTH && (known?.size ?? 0) < MAX_VALUES) known?.add(value);
    }
  }
  const remarks: string[] = [];
  if (header.number > 1) remarks.push(`The column names are in row ${header.number}; what is above is left out.`);
  if (encoding !== null) {
    const texts = [...values.values()].flatMap((known) => [...known]).filter((text) => /\P{ASCII}/u.test(text));
    remarks.push(`Check the letters, which are read as ${encoding}: ${quoted(texts.slice(0, 3))}.`);
  }
  // Rows of totals between records are skipped; the first below all of them ends the table, unless it is like one.
  const skipIf: Record<string, string[]> = {};
  for (const { column, pattern, number } of totals)
    if (number < lastRecord) skipIf[column] = [...new Set(skipIf[column]).add(pattern)];
  const end = totals.find(
    ({ column, pattern, number }) => number > lastRecord && skipIf[column]?.includes(pattern) !== true,
  );
  const rows = {
    ...(Object.keys(skipIf).length === 0 ? {} : { skip_if: skipIf }),
    ...(end === undefined ? {} : { until: { [end.column]: end.pattern } }),
  };
  return {
    settings: {
      ...(encoding === null ? {} : { encoding }),
      ...(delimiter === ',' ? {} : { delimiter }),
      ...(Object.keys(rows).length === 0 ? {} : { rows }),
    },
    columns: columns.filter((column) => column !== ''),
    valuesOf: (column) => [...(values.get(column) ?? [])],
    remarks,
  };
}

/** How likely a row has the column names: most of its cells are filled, and many rows have as many cells. */
function likelinessOf({ cells }: CsvRow, rows: readonly CsvRow[]): number {
  if (cells.filter((cell) => cell !== '').length < cells.length * 0.6) return -1;
  const like = cells.length === 1 ? 0 : rows.filter((row) => row.cells.length === cells.length).length;
  return like * 1000 + cells.length;
}
