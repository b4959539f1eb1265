import { IANAZone } from 'luxon';
import type { JsonObject } from '../json.ts';
import { normalizeName } from '../ids.ts';
import { getObject, getTexts, parseMapText, refuseUnknown } from '../map-checks.ts';
import { KINDS, type Kind } from '../import-format.ts';
import { creatableKind, type Fields, type FieldType } from './fields.ts';
import { InputError } from '../input-error.ts';

/** A column in a text, such as `{End Date}`. */
export const COLUMN_IN_TEXT = /\{([^{}]+)\}/g;

/** How a field gets its value from a row. */
export interface FieldMap {
  type: FieldType;
  /** The time zone of dates without one; null if the map names none. */
  timeZone: string | null;
  /** Columns by header name. Several only for ids, numbers and texts made from them. */
  columns: readonly string[];
  /** Texts with columns in braces, such as `Expires {End Date}.`; each is left out if one of its columns is blank. */
  texts: readonly string[];
  /** A value that is the same for all rows, in place of columns; undefined for none. */
  constant: unknown;
  /** Look-up of the column's values; a value that is not listed is refused. */
  values: ReadonlyMap<string, unknown> | null;
  /** The formats of dates, such as `MM/dd/yyyy`; empty for RFC 3339. */
  formats: readonly string[];
  /** Separates the entries of a list in one column; empty if a cell has one entry. */
  separator: string;
  /** The value of a blank cell; if undefined, null or an empty list. */
  blank: unknown;
  /** Words that mean a blank cell, normalized. */
  none: ReadonlySet<string>;
  /** Make an id from the columns: this prefix and a slug, or a number if there is no prefix. */
  idPrefix: string | null;
  isNumber: boolean;
  /** The column with the descriptions of NIGP codes, or none. */
  descriptions: readonly string[];
  /** How the record that the field refers to is made from the same row; its name is the cell unless mapped. */
  creates: RecordMap | null;
}

/** Tests of cells by column. */
export type Cells = ReadonlyMap<string, (cell: string) => boolean>;

/** How a row becomes a record. */
export interface RecordMap {
  kind: Kind;
  fields: ReadonlyMap<string, FieldMap>;
}

/** One file of a kind. */
export interface FileMap extends RecordMap {
  /** Relative to the map. */
  file: string;
  /** Null for the one by which the map's columns are found. */
  delimiter: string | null;
  /** A label of `TextDecoder`; null for UTF-8, or UTF-16 with a byte order mark. */
  encoding: string | null;
  /** The row of column names in a spreadsheet; null for the first that has the map's columns. */
  headerLine: number | null;
  /** Rows that do not count, and the one that ends the table, by one of their cells. */
  skipIf: Cells;
  until: Cells;
  /** Columns that are knowingly not used. */
  ignored: ReadonlySet<string>;
}

export interface CsvMap {
  files: readonly FileMap[];
  fields: Fields;
}

/** The settings of all fields, and their types. */
type Defaults = Pick<FieldMap, 'timeZone' | 'none'> & { types: Fields };

/** The sources of a value, with the options that each can have. An option that does nothing is refused. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  column: ['values', 'format', 'separator', 'description', 'blank', 'none', 'creates', 'fields'],
  text: ['blank', 'none'],
  constant: [],
  id_from: ['prefix', 'separator', 'blank', 'none', 'creates', 'fields'],
  number_from: ['blank', 'none'],
};
const SOURCES = Object.keys(OPTIONS);
const FIELD_KEYS = [...new Set(Object.entries(OPTIONS).flat(2))];
const FILE_KEYS = ['file', 'encoding', 'delimiter', 'rows', 'fields', 'ignore'];

/** @throws InputError */
export function parseMap(text: string, name: string, types: Fields): CsvMap {
  const map = parseMapText(text, name);
  const open = Array.from(text.matchAll(/("[^"]*")\s*:[\s[]*(?:"[^"]*",\s*)*"\(choose /g), ([, key]) => key).sort();
  if (open.length > 0) throw new InputError(`${name}: fill in what is marked (choose …) for ${open.join(', ')}`);
  refuseUnknown(map, ['time_zone', 'none', 'kinds'], name);
  const timeZone = map['time_zone'] ?? null;
  // Not names such as `local`, which differ by machine.
  if (timeZone !== null && (typeof timeZone !== 'string' || !IANAZone.isValidZone(timeZone))) {
    throw new InputError(
      `${name}: time_zone ${JSON.stringify(timeZone)} is not a time zone; give one such as "America/Chicago"`,
    );
  }
  const none = new Set(getTexts(map['none'], `${name}: none`).map(normalizeName));
  const kinds = getObject(map['kinds'], `${name}: kinds`);
  refuseUnknown(kinds, KINDS, `${name}: kinds`);
  const files = Object.entries(kinds).flatMap(([kind, described]) =>
    (Array.isArray(described) ? described : [described]).map((file) =>
      fileMap(kind as Kind, file, { timeZone, none, types }, `${name}: kinds.${kind}`),
    ),
  );
  if (files.length === 0) throw new InputError(`${name}: kinds names no file; accepted are ${KINDS.join(', ')}`);
  return { files, fields: types };
}

/** The kinds that a map writes, with those that its fields create. */
export function kindsOf({ files }: Pick<CsvMap, 'files'>): Kind[] {
  const created = files.flatMap((file) => fieldsIn(file).map(({ map }) => map.creates?.kind));
  const written = new Set([...files.map(({ kind }) => kind), ...created]);
  return KINDS.filter((kind) => written.has(kind));
}

/** The fields of a record and of those that it creates. */
export function fieldsIn({ kind, fields }: RecordMap): { kind: Kind; field: string; map: FieldMap }[] {
  return Array.from(fields).flatMap(([field, map]) => [
    { kind, field, map },
    ...(map.creates === null ? [] : fieldsIn(map.creates)),
  ]);
}

function fileMap(kind: Kind, value: unknown, defaults: Defaults, path: string): FileMap {
  const map = getObject(value, path);
  refuseUnknown(map, FILE_KEYS, path);
  const { file, delimiter = null, encoding = null } = map;
  if (typeof file !== 'string') throw new InputError(`${path}.file must name a CSV file`);
  if (delimiter !== null && (typeof delimiter !== 'string' || delimiter.length !== 1))
    throw new InputError(`${path}.delimiter must be one character`);
  if (encoding !== null && typeof encoding !== 'string') throw new InputError(`${path}.encoding must be a string`);
  const ignored = new Set(getTexts(map['ignore'], `${path}.ignore`));
  const types = defaults.types[kind];
  const fields = fieldMaps(map['fields'], types, defaults, `${path}.fields`);
  const missing = Object.entries(types).find(([field, { isRequired }]) => isRequired && !fields.has(field));
  if (missing !== undefined) throw new InputError(`${path}.fields.${missing[0]} is missing: every record needs it`);
  return { kind, file, delimiter, encoding, ...rowsOf(map['rows'], `${path}.rows`), fields, ignored };
}

/** Which rows of a file count. */
function rowsOf(value: unknown = {}, path: string): Pick<FileMap, 'headerLine' | 'skipIf' | 'until'> {
  const rows = getObject(value, path);
  refuseUnknown(rows, ['header_line', 'skip_if', 'until'], path);
  const { header_line: headerLine = null } = rows;
  if (headerLine !== null && typeof headerLine !== 'number')
    throw new InputError(`${path}.header_line must be the number of a row in a spreadsheet`);
  const cellsOf = (key: string): Cells => {
    const columns = Object.entries(getObject(rows[key] ?? {}, `${path}.${key}`));
    return new Map(columns.map(([column, texts]) => [column, matcherOf(getTexts(texts, `${path}.${key}.${column}`))]));
  };
  return { headerLine, skipIf: cellsOf('skip_if'), until: cellsOf('until') };
}

/** A test of texts by patterns, in which `*` is any text. Case and spacing make no difference; `""` is a blank cell. */
function matcherOf(patterns: readonly string[]): (text: string) => boolean {
  const sources = patterns.map((pattern) =>
    normalizeName(pattern)
      .split('*')
      .map((text) => RegExp.escape(text))
      .join('.*'),
  );
  const expressions = sources.map((source) => new RegExp(`^${source}$`, 's'));
  return (text) => expressions.some((expression) => expression.test(normalizeName(text)));
}

function fieldMaps(
  value: unknown,
  types: Readonly<Record<string, FieldType>>,
  defaults: Defaults,
  path: string,
): Map<string, FieldMap> {
  const described = getObject(value, path);
  refuseUnknown(described, Object.keys(types), path);
  const mapped = Object.entries(types).filter(([field]) => Object.hasOwn(described, field));
  return new Map(
    mapped.map(([field, type]) => [field, fieldMap(described[field], type, defaults, `${path}.${field}`)]),
  );
}

function fieldMap(value: unknown, type: FieldType, defaults: Defaults, path: string): FieldMap {
  const map: JsonObject = typeof value === 'string' ? { column: value } : getObject(value, path);
  refuseUnknown(map, FIELD_KEYS, path);
  const sources = SOURCES.filter((key) => Object.hasOwn(map, key));
  const [source = ''] = sources;
  if (sources.length !== 1) throw new InputError(`${path} must have one of ${SOURCES.join(', ')}`);
  checkOptions(map, source, type, path);
  const textsOf = (key: string): string[] => getTexts(map[key], `${path}.${key}`);
  const texts = textsOf('text');
  const inBraces = texts.flatMap((one) => Array.from(one.matchAll(COLUMN_IN_TEXT), ([, column = '']) => column.trim()));
  if (source === 'text' && inBraces.length === 0)
    throw new InputError(`${path}.text names no column; write columns in braces, such as "Expires {End Date}."`);
  const { values, creates, constant, blank } = map;
  return {
    type,
    texts,
    constant,
    blank,
    timeZone: defaults.timeZone,
    formats: textsOf('format'),
    columns: source === 'text' || source === 'constant' ? inBraces : textsOf(source),
    values: values === undefined ? null : new Map(Object.entries(getObject(values, `${path}.values`))),
    separator: textsOf('separator')[0] ?? '',
    none: new Set([...defaults.none, ...textsOf('none').map(normalizeName)]),
    idPrefix: source === 'id_from' ? (textsOf('prefix')[0] ?? '') : null,
    isNumber: source === 'number_from',
    descriptions: textsOf('description'),
    creates: creates === undefined ? null : createdMap(creates as Kind, map['fields'], defaults, `${path}.fields`),
  };
}

/** The fields of a created record: all but its id, which is the reference to it. */
function createdMap(kind: Kind, described: unknown = {}, defaults: Defaults, path: string): RecordMap {
  const types = Object.entries(defaults.types[kind]).filter(([field]) => field !== 'id');
  return { kind, fields: fieldMaps(described, Object.fromEntries(types), defaults, path) };
}

/** @throws InputError if an option is missing, or contradicts the field or another option. */
function checkOptions(map: JsonObject, source: string, field: FieldType, path: string): void {
  const { type } = field;
  const creatable = creatableKind(field);
  const has = (key: string): boolean => map[key] !== undefined;
  const refuseIf = (condition: boolean, message: string): void => {
    if (condition) throw new InputError(`${path}${message}`);
  };
  for (const key of Object.keys(map)) {
    const others = OPTIONS[source] ?? [];
    const accepted = others.length === 0 ? 'nothing else' : others.join(', ');
    refuseIf(key !== source && !others.includes(key), `.${key} has no effect on ${source}, which can have ${accepted}`);
  }
  for (const key of ['column', 'separator', 'prefix', 'description'])
    refuseIf(has(key) && typeof map[key] !== 'string', `.${key} must be a string`);
  const isList = type === 'list' || type === 'nigp';
  refuseIf(source === 'text' && type !== 'text', '.text is for texts only');
  refuseIf(source === 'number_from' && type !== 'integer', '.number_from is for whole numbers only');
  refuseIf(source === 'id_from' && !has('prefix'), '.prefix is missing, such as "sup_"');
  refuseIf(has('format') && type !== 'timestamp', '.format is for dates only');
  refuseIf(has('description') && type !== 'nigp', '.description is for NIGP codes only');
  refuseIf(has('format') && has('values'), ' has values and format; list the words that mean "no date" as none');
  refuseIf(source === 'column' && type === 'boolean' && !has('values'), '.values is missing, such as {"Yes": true}');
  refuseIf(has('separator') && !isList, '.separator is for lists only');
  refuseIf(
    (map['separator'] ?? '') !== '' && [map[source]].flat().length > 1,
    ' has a separator and several columns; give one column, or the separator "" if they name one entry together',
  );
  refuseIf(has('creates') && map['creates'] !== creatable, `.creates must be ${JSON.stringify(creatable ?? null)}`);
  refuseIf(
    has('creates') && has('values'),
    '.creates makes records from the text of columns: leave out creates or values',
  );
  refuseIf(has('fields') && !has('creates'), '.fields describes the record that creates makes: creates is missing');
  refuseIf(
    has('fields') && has('separator'),
    ' has fields and separator; fields needs one row for each entry: leave out one of them',
  );
  refuseIf(
    isList && source !== 'constant' && !has('separator') && !has('fields'),
    '.separator is missing: the field is a list; give what separates entries, or "" if a cell has one entry',
  );
}
