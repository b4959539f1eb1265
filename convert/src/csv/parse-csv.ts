import { isAscii, isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { parse, type Info } from 'csv-parse';
import { InputError } from '../input-error.ts';

/** In characters: a quote that is never closed must not fill the memory. */
const MAX_RECORD_LENGTH = 16 * 1024 * 1024;

/** How many rows can be the one of column names. */
const HEAD_ROWS = 100;

export const DELIMITERS = [',', ';', '\t', '|'];

export interface CsvRow {
  /** Without outer spaces. */
  cells: readonly string[];
  /** The number in a spreadsheet, which is not that of the line if cells have line breaks. */
  number: number;
}

/**
 * The rows of a file, of any length, without empty lines. Quotes are read strictly: otherwise one that is not closed
 * could hide the rows after it in a cell.
 *
 * @param encoding a label of `TextDecoder`; null for UTF-8, or UTF-16 with a byte order mark.
 * @throws InputError if it is no CSV; caused by a TypeError if it is in another encoding.
 */
export async function* parseCsv(
  path: string,
  encoding: string | null,
  delimiter: string,
  onRead: (bytes: number) => void = () => undefined,
): AsyncGenerator<CsvRow> {
  const file = createReadStream(path);
  let readBytes = 0;
  const options = { delimiter, info: true, relax_column_count: true, skip_empty_lines: true };
  const parser = parse({ ...options, max_record_size: MAX_RECORD_LENGTH });
  // Errors end the loop below.
  pipeline(
    file,
    (chunks: AsyncIterable<Buffer>) => decodeText(chunks, encoding),
    parser,
    () => undefined,
  );
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      onRead(file.bytesRead - readBytes);
      readBytes = file.bytesRead;
      yield { cells: record.map((cell) => cell.trim()), number: info.records + info.empty_lines };
    }
  } catch (error) {
    throw new InputError(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** The first row with the highest score, and the delimiter by which it has it; undefined if there is none. */
export async function findHeader(
  path: string,
  encoding: string | null,
  delimiters: readonly string[],
  scoreOf: (row: CsvRow, rows: readonly CsvRow[]) => number,
): Promise<{ delimiter: string; header: CsvRow } | undefined> {
  let best: { delimiter: string; header: CsvRow; score: number } | undefined;
  let problem: Error | undefined;
  for (const delimiter of delimiters) {
    const rows: CsvRow[] = [];
    try {
      for await (const row of parseCsv(path, encoding, delimiter)) if (rows.push(row) === HEAD_ROWS) break;
    } catch (error) {
      // A wrong delimiter can leave quotes within cells.
      problem ??= error as Error;
    }
    for (const header of rows) {
      const score = scoreOf(header, rows);
      if (score > (best?.score ?? -1)) best = { delimiter, header, score };
    }
  }
  if (best === undefined && problem !== undefined) throw problem;
  return best;
}

/** Formats that exports can have instead of CSV, by their first bytes, since the file's name can be wrong. */
const OTHER_FORMATS: readonly [start: RegExp, name: string][] = [
  [/^(PK\x03\x04|\x1f\x8b|\xd0\xcf\x11\xe0)/, 'an archive or a workbook, such as ZIP, gzip, XLSX or XLS'],
  [/^%PDF/, 'PDF'],
  [/^(\xef\xbb\xbf)?\s*<(!doctype|html|\?xml|table)/i, 'HTML or XML'],
  [/^(\xef\xbb\xbf)?\s*[[{]\s*["[{]/, 'JSON'],
];

const BYTE_ORDER_MARKS: Readonly<Record<string, string>> = {
  '\xef\xbb\xbf': 'utf-8',
  '\xff\xfe': 'utf-16le',
  '\xfe\xff': 'utf-16be',
};

/** Decodes a file. By a wrong encoding, letters would become others, and names and the ids made from them new ones. */
async function* decodeText(chunks: AsyncIterable<Buffer>, encoding: string | null): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  let isChecked = encoding === null;
  try {
    for await (const chunk of chunks) {
      if (decoder === undefined) {
        const start = chunk.toString('latin1', 0, 512);
        const other = OTHER_FORMATS.find(([bytes]) => bytes.test(start));
        if (other !== undefined) throw new Error(`it is ${other[1]}, no CSV; save it as "CSV UTF-8"`);
        const [mark = ''] = /^(\xef\xbb\xbf|\xff\xfe|\xfe\xff)/.exec(start) ?? [];
        decoder = new TextDecoder(BYTE_ORDER_MARKS[mark] ?? encoding ?? 'utf-8', { fatal: true });
        isChecked ||= decoder.encoding.startsWith('utf-');
      }
      if (!isChecked && !isAscii(chunk)) {
        // Any bytes are Windows-1252, but hardly any text in it is also UTF-8. A chunk can end within a letter.
        const parts = [0, 1, 2, 3].map((cut) => chunk.subarray(0, chunk.length - cut));
        if (parts.some((part) => isUtf8(part) && !isAscii(part))) throw new Error('it is UTF-8; leave out "encoding"');
        isChecked = true;
      }
      yield decoder.decode(chunk, { stream: true });
    }
    yield decoder?.decode() ?? '';
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const advice = 'save it as "CSV UTF-8", or name its encoding in the map, such as "encoding": "windows-1252"';
    throw new TypeError(`it is not ${decoder?.encoding.toUpperCase() ?? ''}; ${advice}`, { cause: error });
  }
}
