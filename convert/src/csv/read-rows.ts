import { basename } from 'node:path';
import { InputError } from '../input-error.ts';
import type { ConversionReport } from '../report.ts';
import { fieldsIn, kindsOf, type Cells, type FileMap } from './map-file.ts';
import { DELIMITERS, findHeader, parseCsv, type CsvRow } from './parse-csv.ts';

/** The cells of a row by column. */
export type Row = Readonly<Record<string, string>>;

/**
 * The rows of a file that the map does not leave out, with their numbers in a spreadsheet, and why one cannot be trusted.
 *
 * @throws InputError if the columns are not those of the map, or the file is not CSV.
 */
export async function* readRows(
  map: FileMap,
  path: string,
  report: ConversionReport,
  onRead: (bytes: number) => void,
): AsyncGenerator<{ row: Row; number: number; problem: string | null }> {
  const { encoding, skipIf, until, ignored } = map;
  const file = basename(map.file);
  const refuse = (place: string, reason: string): void =>
    report.refuse({ file, place, field: '', id: null, reason, kinds: kindsOf({ files: [map] }) });
  const { delimiter, header } = await findColumns(map, path);
  const columns = header.cells;
  let hasEnded = false;
  for await (const { cells, number } of parseCsv(path, encoding, delimiter, onRead)) {
    const filled = cells.filter((cell) => cell !== '').length;
    // Spreadsheets save rows that were cleared as separators only; reports repeat the column names on each page.
    if (filled === 0 || columns.every((column, index) => column === cells[index])) continue;
    const row = Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? '']));
    const isLike = (tests: Cells): boolean => [...tests].some(([column, test]) => test(row[column] ?? ''));
    const isAbove = number < header.number;
    hasEnded ||= !isAbove && isLike(until);
    if (isAbove) report.dropped(`rows of ${file} above its column names`);
    else if (isLike(skipIf)) report.dropped(`rows of ${file} that rows.skip_if leaves out`);
    else if (hasEnded) {
      report.dropped(`rows of ${file} from rows.until on`);
      // A subtotal that is taken for the end must not hide the records after it.
      if (filled * 2 > columns.length + 1)
        refuse(`row ${number}`, 'is below rows.until, but mostly filled; leave subtotals out by rows.skip_if');
    } else yield { row, number, problem: problemOf(cells, columns, ignored) };
  }
  if (until.size > 0 && !hasEnded) refuse('', 'has no line like rows.until; it could be cut short');
}

/** The first row that has most of the map's columns. */
async function findColumns(map: FileMap, path: string): Promise<{ delimiter: string; header: CsvRow }> {
  const { file, encoding, headerLine, skipIf, until, ignored } = map;
  const ofFields = fieldsIn(map).flatMap(({ map: field }) => [...field.columns, ...field.descriptions]);
  const used = new Set([...ofFields, ...skipIf.keys(), ...until.keys()]);
  const named = [...used, ...ignored].filter((column) => column !== '');
  const scoreOf = ({ cells, number }: CsvRow): number =>
    headerLine === null || number === headerLine ? named.filter((column) => cells.includes(column)).length : -1;
  const found = await findHeader(path, encoding, map.delimiter === null ? DELIMITERS : [map.delimiter], scoreOf);
  if (found === undefined) throw new InputError(`${file} has no row ${headerLine ?? 1}, of column names`);
  const columns = found.header.cells;
  const missing = named.filter((column) => !columns.includes(column));
  const unmapped = columns.filter((column) => column !== '' && !used.has(column) && !ignored.has(column));
  const repeated = repeatedIn(columns);
  const problems = [
    missing.length > 0 ? `has no column ${quoted(missing)}` : '',
    unmapped.length > 0 ? `has the column ${quoted(unmapped)}, which the map neither uses nor ignores` : '',
    repeated.length > 0 ? `has the column ${quoted(repeated)} twice` : '',
  ].filter((problem) => problem !== '');
  if (problems.length > 0) throw new InputError(`${file} ${problems.join(', and ')}`);
  return found;
}

/** Why a row could be torn apart, or its cells in other columns, as by a line break or delimiter without quotes. */
function problemOf(cells: readonly string[], columns: readonly string[], ignored: ReadonlySet<string>): string | null {
  if (cells.length < columns.length || cells.findLastIndex((cell) => cell !== '') >= columns.length)
    return `has ${cells.length} cells for ${columns.length} columns; correct it, or leave it out by "rows"`;
  const isUnnamed = !ignored.has('') && cells.some((cell, index) => cell !== '' && columns[index] === '');
  return isUnnamed ? 'has text in a column without a name; name it, or ignore ""' : null;
}

/** The columns that are named twice. */
export function repeatedIn(columns: readonly string[]): string[] {
  return columns.filter((column, index) => column !== '' && columns.indexOf(column) !== index);
}

/** Columns or values for a message. */
export function quoted(texts: Iterable<string>): string {
  return Array.from(texts, (text) => JSON.stringify(text)).join(', ');
}
