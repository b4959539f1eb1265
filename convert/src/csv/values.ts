import { parseWithFormats, readTimestamp } from '../dates.ts';
import { hashedId, normalizeName, numberFor } from '../ids.ts';
import { ValueError } from '../value-error.ts';
import { COLUMN_IN_TEXT, type FieldMap } from './map-file.ts';
import { quoted, type Row } from './read-rows.ts';

const NIGP_CODE = /^([0-9]{3}|[0-9]{5}|[0-9]{7}|[0-9]{11})$/;

/** A text with the cells that it is from. */
interface Entry {
  text: string;
  cells: readonly string[];
}

/** @throws ValueError */
export function valueOf(row: Row, map: FieldMap): unknown {
  const { type, isRequired } = map.type;
  if (map.constant !== undefined) return map.constant;
  const values = entriesOf(row, map).map((entry) => single(entry, map));
  if (values.length === 0) {
    if (map.blank !== undefined) return map.blank;
    if (type === 'list' || type === 'nigp') return [];
    if (isRequired) throw new ValueError('blank, but every record needs a value');
    return null;
  }
  if (type === 'nigp') return nigpCodes(row, map, values as string[]);
  return type === 'list' ? [...new Set(values)] : values[0];
}

/** The ids that a field refers to, with the texts that they are from. */
export function referencesOf(row: Row, map: FieldMap): { id: string; name: string }[] {
  const { idPrefix } = map;
  return entriesOf(row, map).map(({ text, cells }) => {
    return { id: idPrefix === null ? text : idOf(cells, idPrefix), name: text };
  });
}

/** The entries that a row has for a field: several for a list, none if the cells are blank. */
function entriesOf(row: Row, { columns, texts, separator, none }: FieldMap): Entry[] {
  const filled = (text: string): string => (none.size > 0 && none.has(normalizeName(text)) ? '' : text.trim());
  const cellOf = (column: string): string => filled(row[column] ?? '');
  const cells = columns.map(cellOf);
  const text =
    texts.length === 0
      ? cells.join(' ').trim()
      : texts
          .map((one) => fillText(one, cellOf))
          .join(' ')
          .trim();
  const entries =
    separator === ''
      ? [{ text, cells }]
      : text.split(separator).map((one) => ({ text: filled(one), cells: [filled(one)] }));
  return entries.filter((entry) => entry.text !== '');
}

/** A text with its columns filled in; empty if one of them is blank. */
function fillText(text: string, cellOf: (column: string) => string): string {
  const columns = Array.from(text.matchAll(COLUMN_IN_TEXT), ([, column = '']) => column.trim());
  if (columns.some((column) => cellOf(column) === '')) return '';
  return text.replaceAll(COLUMN_IN_TEXT, (_, column: string) => cellOf(column.trim()));
}

/** @throws ValueError */
function single({ text, cells }: Entry, map: FieldMap): unknown {
  if (map.values !== null) {
    if (map.values.has(text)) return map.values.get(text);
    throw ValueError.of(text, `is not in the map's values; listed are ${quoted(map.values.keys())}`);
  }
  if (map.idPrefix !== null) return idOf(cells, map.idPrefix);
  if (map.isNumber) return numberFor(JSON.stringify(cells));
  switch (map.type.type) {
    case 'timestamp':
      return timestampOf(text, map);
    case 'integer':
      if (!/^\d{1,15}$/.test(text)) throw ValueError.of(text, 'is not a whole number');
      return Number(text);
    case 'nigp':
      return nigpCodeOf(text);
    default:
      return text;
  }
}

/** @throws ValueError */
function timestampOf(text: string, { formats, timeZone }: FieldMap): string {
  if (formats.length === 0) return readTimestamp(text, timeZone);
  if (timeZone === null) throw new ValueError('has no time zone; name one in the map, as time_zone');
  return parseWithFormats(text, formats, timeZone);
}

/** Codes with their descriptions, which are in the same order; all of a cell describes a single code. */
function nigpCodes(row: Row, map: FieldMap, codes: readonly string[]): object[] {
  const separator = codes.length === 1 ? '' : map.separator;
  const texts = entriesOf(row, { ...map, separator, columns: map.descriptions }).map(({ text }) => text);
  if (texts.length > 0 && texts.length !== codes.length)
    throw new ValueError(`has ${codes.length} codes, but ${texts.length} descriptions`);
  const distinct = new Map(codes.map((code, index) => [code, texts[index] ?? '']));
  return Array.from(distinct, ([code, description]) => ({ code, description }));
}

/** @throws ValueError */
function nigpCodeOf(text: string): string {
  // Spreadsheets drop the zeros before the class, the first three digits.
  const code = text.replace(/^\d{1,2}(?=$|[\s-])/, (digits) => digits.padStart(3, '0')).replaceAll(/[\s-]/g, '');
  if (NIGP_CODE.test(code)) return code;
  const accepted = '3, 5, 7 or 11 digits; hyphens and spaces between them are left out';
  throw ValueError.of(text, `is not an NIGP code of ${accepted}`);
}

/** The same words give the same id, whatever their case and spacing. */
function idOf(cells: readonly string[], prefix: string): string {
  const names = cells.map(normalizeName);
  return hashedId(prefix, JSON.stringify(names), names.join(' '));
}
