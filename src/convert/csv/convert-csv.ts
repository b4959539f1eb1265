import { createReadStream } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { pipeline } from 'node:stream';
import { parse, type Info } from 'csv-parse';
import { parseWithFormat, readTimestamp } from '../dates.ts';
import { hashedId, normalizeName, numberFor } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { ConversionReport } from '../report.ts';
import { ValueError } from '../value-error.ts';
import type { Workspace } from '../workspace.ts';
import { decodeText } from './decode-text.ts';
import type { CsvMap, FieldMap, FileMap } from './map-file.ts';
import { OperatorError } from '../../operator-error.ts';

type Row = Readonly<Record<string, string>>;

/**
 * Converts CSV files to records in the workspace.
 *
 * @param onRead called with the number of bytes read.
 * @param mapPath the map's own path, which the files are relative to.
 * @throws OperatorError if a file has other columns than the map.
 */
export async function convertCsv(
  map: CsvMap,
  mapPath: string,
  workspace: Workspace,
  report: ConversionReport,
  onRead: (bytes: number) => void,
): Promise<void> {
  const seen = new Map<string, string>();
  for (const file of map.files) {
    for await (const { row, line } of readRows(file, resolve(dirname(mapPath), file.file), onRead)) {
      report.read(`rows of ${basename(file.file)}`);
      convertRow(row, line, file, seen, workspace, report);
    }
  }
}

/** @throws OperatorError if the columns are not those of the map, or the file is not CSV. */
async function* readRows(
  map: FileMap,
  path: string,
  onRead: (bytes: number) => void,
): AsyncGenerator<{ row: Row; line: number }> {
  const checkColumns = (header: string[]): string[] => {
    const columns = header.map((column) => column.trim());
    const used = new Set([...map.fields.values()].flatMap((field) => field.columns));
    const missing = [...used, ...map.ignored].filter((column) => !columns.includes(column));
    const unmapped = columns.filter((column) => !used.has(column) && !map.ignored.has(column));
    const repeated = columns.filter((column, index) => columns.indexOf(column) !== index);
    const problems = [
      missing.length > 0 ? `has no column ${quoted(missing)}` : '',
      unmapped.length > 0 ? `has the column ${quoted(unmapped)}, which the map neither uses nor ignores` : '',
      repeated.length > 0 ? `has the column ${quoted(repeated)} twice` : '',
    ].filter((problem) => problem !== '');
    if (problems.length > 0) throw new OperatorError(`${map.file} ${problems.join(', and ')}`);
    return columns;
  };
  const file = createReadStream(path);
  let readBytes = 0;
  const parser = parse({ columns: checkColumns, delimiter: map.delimiter, info: true, skip_empty_lines: true });
  // Errors end the loop below.
  pipeline(file, decodeText, parser, () => undefined);
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: Row; info: Info }>) {
      onRead(file.bytesRead - readBytes);
      readBytes = file.bytesRead;
      yield { row: record, line: info.lines };
    }
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`${map.file} cannot be read: ${(error as Error).message}`);
  }
}

function convertRow(
  row: Row,
  line: number,
  { kind, file, fields }: FileMap,
  seen: Map<string, string>,
  workspace: Workspace,
  report: ConversionReport,
): void {
  const record: JsonObject = {};
  const created: { kind: string; id: string; name: string }[] = [];
  const place = `line ${line}`;
  let isWhole = true;
  for (const [field, map] of fields) {
    try {
      record[field] = valueOf(row, map);
      if (map.creates !== null) created.push(...referredRecords(row, map, map.creates));
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      isWhole = false;
      report.refuse({ file: basename(file), place, field, id: null, reason: error.message });
    }
  }
  if (!isWhole) return;
  const id = String(record['id'] ?? record['abbreviation']);
  const key = `${kind} ${id}`;
  const other = seen.get(key);
  if (other !== undefined) {
    report.refuse({ file: basename(file), place, field: 'id', id, reason: `is also the id of ${other}` });
    return;
  }
  seen.set(key, `${file}:${line}`);
  // Records of their own count more than those made from a mention.
  workspace.putRecord(kind, id, '1', record);
  for (const { kind: other, ...mentioned } of created) workspace.putRecord(other, mentioned.id, '', mentioned);
}

/** @throws ValueError */
function valueOf(row: Row, map: FieldMap): unknown {
  const { type, isRequired } = map.type;
  if (map.constant !== undefined) return map.constant;
  const entries = entriesOf(row, map);
  if (entries.length === 0) {
    if (map.blank !== undefined) return map.blank;
    if (type === 'list' || type === 'nigp') return [];
    if (isRequired) throw new ValueError(`column ${quoted(map.columns)} is blank`);
    return null;
  }
  const values = entries.map((entry) => single(entry, map));
  if (map.separator === null) return values[0];
  return type === 'nigp' ? values.map((code) => ({ code, description: '' })) : [...new Set(values)];
}

/** A text with the cells that it is from. */
interface Entry {
  text: string;
  cells: readonly string[];
}

/** The entries that a row has for a field: several for a list, none if the cells are blank. */
function entriesOf(row: Row, { columns, separator }: FieldMap): Entry[] {
  const cells = columns.map((column) => (row[column] ?? '').trim());
  const text = cells.join(' ').trim();
  const entries =
    separator === null
      ? [{ text, cells }]
      : text.split(separator).map((one) => ({ text: one.trim(), cells: [one.trim()] }));
  return entries.filter((entry) => entry.text !== '');
}

/** @throws ValueError */
function single({ text, cells }: Entry, map: FieldMap): unknown {
  if (map.values !== null) {
    if (!map.values.has(text)) {
      throw new ValueError(
        `${JSON.stringify(text)} is not in the map's values; listed are ${quoted([...map.values.keys()])}`,
      );
    }
    return map.values.get(text);
  }
  if (map.idPrefix !== null) return idOf(cells, map.idPrefix);
  if (map.isNumber) return numberFor(JSON.stringify(cells));
  switch (map.type.type) {
    case 'timestamp':
      return timestampOf(text, map);
    case 'integer':
      if (!/^\d{1,15}$/.test(text)) throw new ValueError(`${JSON.stringify(text)} is not a whole number`);
      return Number(text);
    case 'boolean':
      throw new ValueError('needs values, such as {"Yes": true, "No": false}');
    default:
      return text;
  }
}

function timestampOf(text: string, { format, timeZone }: FieldMap): string {
  if (format === null) return readTimestamp(text, timeZone);
  if (timeZone === null) throw new ValueError('has no time zone; name one in the map, as time_zone');
  return parseWithFormat(text, format, timeZone);
}

/** The same words give the same id, whatever their case and spacing. */
function idOf(cells: readonly string[], prefix: string): string {
  const names = cells.map(normalizeName);
  return hashedId(prefix, JSON.stringify(names), names.join(' '));
}

function referredRecords(row: Row, map: FieldMap, kind: string): { kind: string; id: string; name: string }[] {
  const { idPrefix } = map;
  return entriesOf(row, map).map(({ text, cells }) => {
    return { kind, id: idPrefix === null ? text : idOf(cells, idPrefix), name: text };
  });
}

function quoted(columns: readonly string[]): string {
  return columns.map((column) => JSON.stringify(column)).join(', ');
}
