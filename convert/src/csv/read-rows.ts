import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { parse, type Info } from 'csv-parse';
import { InputError } from '../input-error.ts';
import { decodeText } from './decode-text.ts';
import { fieldsIn, type FileMap } from './map-file.ts';

/** In characters: a quote that is never closed must not fill the memory. */
export const MAX_RECORD_LENGTH = 16 * 1024 * 1024;

/** The cells of a row by column. */
export type Row = Readonly<Record<string, string>>;

/**
 * The rows of a file with their numbers in a spreadsheet, which are not those of lines if cells have line breaks.
 *
 * @throws InputError if the columns are not those of the map, or the file is not CSV.
 */
export async function* readRows(
  map: FileMap,
  path: string,
  onRead: (bytes: number) => void,
): AsyncGenerator<{ row: Row; number: number }> {
  const checkColumns = (header: string[]): string[] => {
    const columns = header.map((column) => column.trim());
    const used = new Set(fieldsIn(map).flatMap(({ map: field }) => field.columns));
    const missing = [...used, ...map.ignored].filter((column) => !columns.includes(column));
    const unmapped = columns.filter((column) => !used.has(column) && !map.ignored.has(column));
    const repeated = columns.filter((column, index) => columns.indexOf(column) !== index);
    const problems = [
      missing.length > 0 ? `has no column ${quoted(missing)}` : '',
      unmapped.length > 0 ? `has the column ${quoted(unmapped)}, which the map neither uses nor ignores` : '',
      repeated.length > 0 ? `has the column ${quoted(repeated)} twice` : '',
    ].filter((problem) => problem !== '');
    if (problems.length > 0) throw new InputError(`${map.file} ${problems.join(', and ')}`);
    return columns;
  };
  const file = createReadStream(path);
  let readBytes = 0;
  const parser = parse({
    columns: checkColumns,
    delimiter: map.delimiter,
    info: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_LENGTH,
  });
  // Errors end the loop below.
  pipeline(file, decodeText, parser, () => undefined);
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: Row; info: Info }>) {
      onRead(file.bytesRead - readBytes);
      readBytes = file.bytesRead;
      // Spreadsheets save rows that were cleared as separators only.
      if (Object.values(record).every((cell) => cell.trim() === '')) continue;
      yield { row: record, number: 1 + info.records + info.empty_lines };
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(`${map.file} cannot be read: ${(error as Error).message}`);
  }
}

/** Columns or values for a message. */
export function quoted(texts: Iterable<string>): string {
  return Array.from(texts, (text) => JSON.stringify(text)).join(', ');
}
