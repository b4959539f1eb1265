import { IANAZone } from 'luxon';
import type { JsonObject } from '../json.ts';
import { getObject, parseMapText, refuseUnknown } from '../map-checks.ts';
import { KINDS, type Kind } from '../../kinds.ts';
import { FIELDS, type FieldType } from './fields.ts';
import { OperatorError } from '../../operator-error.ts';

/** How a field gets its value from a row. */
export interface FieldMap {
  type: FieldType;
  /** The time zone of dates without one; null if the map names none. */
  timeZone: string | null;
  /** Columns by header name. Several only for ids and numbers made from them. */
  columns: readonly string[];
  /** A value that is the same for all rows, in place of columns; undefined for none. */
  constant: unknown;
  /** Look-up of the column's values; a value that is not listed is refused. */
  values: ReadonlyMap<string, unknown> | null;
  /** The format of dates, such as `MM/dd/yyyy`; null for RFC 3339. */
  format: string | null;
  /** Separates the entries of a list in one column. */
  separator: string | null;
  /** The value of a blank cell; if undefined, null or an empty list. */
  blank: unknown;
  /** Make an id from the columns: this prefix and a slug, or a number if there is no prefix. */
  idPrefix: string | null;
  isNumber: boolean;
  /** The kind whose record the field refers to; it is made from the same cell, with the cell as its name. */
  creates: Kind | null;
}

/** One file of a kind. */
export interface FileMap {
  kind: Kind;
  /** Relative to the map. */
  file: string;
  delimiter: string;
  fields: ReadonlyMap<string, FieldMap>;
  /** Columns that are knowingly not used. */
  ignored: ReadonlySet<string>;
}

export interface CsvMap {
  files: readonly FileMap[];
}

const FIELD_KEYS = [
  'column',
  'constant',
  'values',
  'format',
  'separator',
  'blank',
  'id_from',
  'prefix',
  'number_from',
  'creates',
];
const FILE_KEYS = ['file', 'delimiter', 'fields', 'ignore'];

/** @throws OperatorError */
export function parseMap(text: string, name: string): CsvMap {
  const map = parseMapText(text, name);
  refuseUnknown(map, ['time_zone', 'kinds'], name);
  const timeZone = map['time_zone'] ?? null;
  // Not names such as `local`, which differ by machine.
  if (timeZone !== null && (typeof timeZone !== 'string' || !IANAZone.isValidZone(timeZone))) {
    throw new OperatorError(
      `${name}: time_zone ${JSON.stringify(timeZone)} is not a time zone; give one such as "America/Chicago"`,
    );
  }
  const kinds = getObject(map['kinds'], `${name}: kinds`);
  refuseUnknown(kinds, Object.keys(FIELDS), `${name}: kinds`);
  const files = Object.entries(kinds).flatMap(([kind, described]) =>
    (Array.isArray(described) ? described : [described]).map((file) =>
      fileMap(kind as Kind, file, timeZone, `${name}: kinds.${kind}`),
    ),
  );
  if (files.length === 0)
    throw new OperatorError(`${name}: kinds names no file; accepted are ${Object.keys(FIELDS).join(', ')}`);
  return { files };
}

/** The kinds that a map writes, with those that its fields create. */
export function kindsOf({ files }: CsvMap): Kind[] {
  const written = files.flatMap(({ kind, fields }) => [kind, ...[...fields.values()].map(({ creates }) => creates)]);
  return KINDS.filter((kind) => written.includes(kind));
}

function fileMap(kind: Kind, value: unknown, timeZone: string | null, at: string): FileMap {
  const map = getObject(value, at);
  refuseUnknown(map, FILE_KEYS, at);
  const { file, delimiter = ',', ignore = [] } = map;
  if (typeof file !== 'string') throw new OperatorError(`${at}.file must name a CSV file`);
  if (typeof delimiter !== 'string' || delimiter.length !== 1)
    throw new OperatorError(`${at}.delimiter must be one character`);
  if (!Array.isArray(ignore) || !ignore.every((column) => typeof column === 'string')) {
    throw new OperatorError(`${at}.ignore must be a list of columns`);
  }
  const described = getObject(map['fields'], `${at}.fields`);
  const types = FIELDS[kind];
  refuseUnknown(described, Object.keys(types), `${at}.fields`);
  const fields = new Map<string, FieldMap>();
  for (const [field, type] of Object.entries(types)) {
    const place = `${at}.fields.${field}`;
    if (Object.hasOwn(described, field)) fields.set(field, fieldMap(described[field], type, timeZone, place));
    else if (type.isRequired) throw new OperatorError(`${place} is missing: every record needs it`);
  }
  return { kind, file, delimiter, fields, ignored: new Set(ignore) };
}

function fieldMap(value: unknown, type: FieldType, timeZone: string | null, at: string): FieldMap {
  const map: JsonObject = typeof value === 'string' ? { column: value } : getObject(value, at);
  refuseUnknown(map, FIELD_KEYS, at);
  const sources = ['column', 'constant', 'id_from', 'number_from'].filter((key) => Object.hasOwn(map, key));
  if (sources.length !== 1) throw new OperatorError(`${at} must have one of column, constant, id_from and number_from`);
  const text = (key: string): string | null => {
    const found = map[key] ?? null;
    if (found !== null && typeof found !== 'string') throw new OperatorError(`${at}.${key} must be a string`);
    return found;
  };
  const listed = map['id_from'] ?? map['number_from'];
  const columns = listed === undefined ? [text('column')].filter((column) => column !== null) : listed;
  if (!Array.isArray(columns) || !columns.every((column) => typeof column === 'string')) {
    throw new OperatorError(`${at}.${sources[0] ?? ''} must be a list of columns`);
  }
  const isNumber = map['number_from'] !== undefined;
  if (isNumber && type.type !== 'integer') throw new OperatorError(`${at}.number_from is for whole numbers only`);
  if (map['id_from'] !== undefined && text('prefix') === null)
    throw new OperatorError(`${at}.prefix is missing, such as "sup_"`);
  const separator = text('separator');
  if ((type.type === 'list' || type.type === 'nigp') && columns.length > 0 && separator === null) {
    throw new OperatorError(`${at}.separator is missing: the field is a list`);
  }
  const creates = text('creates');
  if (creates !== null && creates !== type.refersTo) {
    throw new OperatorError(`${at}.creates must be ${JSON.stringify(type.refersTo ?? null)}`);
  }
  if (creates !== null && (map['values'] !== undefined || Object.hasOwn(map, 'constant'))) {
    throw new OperatorError(
      `${at}.creates makes records from the text of columns: leave out creates, or values and constant`,
    );
  }
  const values = map['values'] === undefined ? null : new Map(Object.entries(getObject(map['values'], `${at}.values`)));
  return {
    ...{ type, timeZone, columns, values, separator, isNumber, creates },
    constant: map['constant'],
    blank: map['blank'],
    format: text('format'),
    idPrefix: map['id_from'] === undefined ? null : text('prefix'),
  };
}
