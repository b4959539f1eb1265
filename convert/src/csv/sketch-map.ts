import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream';
import { parse } from 'csv-parse';
import { DateTime } from 'luxon';
import { parseTimestamp } from '../dates.ts';
import { decodeText } from './decode-text.ts';
import { creatableKind, type Fields, type FieldType } from './fields.ts';
import type { Kind } from '../import-format.ts';
import { InputError } from '../input-error.ts';
import { MAX_RECORD_LENGTH } from './read-rows.ts';

/** Mark for a column that the operator must name. */
export const CHOOSE_COLUMN = '(choose a column)';

/** How many different values of a column are looked at, and up to which length. */
const MAX_VALUES = 1000;
const MAX_VALUE_LENGTH = 1000;

/** How many accepted values a mark names. */
const MAX_NAMED = 8;

const DATE_FORMATS = [
  'yyyy-MM-dd',
  'yyyy-MM-dd HH:mm',
  'yyyy-MM-dd HH:mm:ss',
  "yyyy-MM-dd'T'HH:mm:ss",
  "yyyy-MM-dd'T'HH:mm:ss.SSS",
  'M/d/yyyy',
  'M/d/yyyy h:mm a',
  'M/d/yyyy h:mm:ss a',
  'M/d/yyyy H:mm',
  'M/d/yy',
  'd.M.yyyy',
  'd-MMM-yyyy',
  'd-MMM-yy',
  'MMMM d, yyyy',
  'MMM d, yyyy',
  'yyyy/MM/dd',
  'yyyyMMdd',
];

/** Columns that describe the supplier in the row of a contract. */
const OF_SUPPLIER = /vendor|supplier|contractor|awardee|company/i;

/** Headers by which a field is recognised; those of numbers depend on the kind. */
const HEADERS: Readonly<Record<string, RegExp>> = {
  title: /title|^name$|project|subject/i,
  name: /^(contract |company |business |vendor |supplier |firm )?(name|title)$|company|business name|legal name/i,
  status: /status|state of/i,
  lead_entity_id: /agency|department|entity|organi[sz]ation|owner|buyer|jurisdiction|city$/i,
  coop_id: /co-?op/i,
  supplier_ids: OF_SUPPLIER,
  city_service_ids: /categor|commodit|service|class/i,
  open_at: /\b(open|issue|post(ed|ing)?\b(?! (code|office))|release|publish|advertis|start)/i,
  close_at: /\b(clos|due|deadline|end|expir)/i,
  questions_due_at: /question/i,
  created_at: /creat|\bpost(ed|ing)?\b(?! (code|office))|publish|issue/i,
  updated_at: /updat|modif|chang/i,
  description: /descri|scope|detail/i,
  summary: /summary|term|period/i,
  nigp_codes: /nigp/i,
  certifications: /certif|\b[mwd]be\b/i,
  states_served: /states/i,
  location: /^(location|address|city.*state)$/i,
  website: /web|url/i,
  email: /e-?mail/i,
  about: /about|capabilit|descri/i,
  issuing_organization: /issu(er|ing)/i,
};

/** The words that name a kind in the header of its number. */
const NAMES: Readonly<Partial<Record<Kind, string>>> = {
  contracts: 'contract|agreement|award',
  solicitations: 'bid|solicitation|rfp|rfq',
  suppliers: 'vendor|supplier',
};

/** Numbers that are not those of a contract or solicitation. */
const OTHER_NUMBER = /vendor|supplier|phone|fax|account/i;

/** Numbers of suppliers, which are no names. */
const ANY_NUMBER = /\b(id|no|num|number|code)\b|#/i;

/** Words for a blank cell. */
const NONE = /^(n\/?a|none|null|tb[ad]|unknown|-+)$/i;

/** A contract is named for what it is about, not for its vendor. */
const CONTRACT_NAME = /^(contract )?(name|title)$|title|descri|subject/i;

/** Which headers tell a kind. */
const KINDS: readonly [Kind, RegExp][] = [
  ['solicitations', /bid|solicit|rfp|rfq|due|clos|advertis/i],
  ['contracts', /contract|award|expir/i],
  ['suppliers', /vendor|supplier|company|business|firm/i],
];

/**
 * A first map of a CSV file: fields whose column was recognised by its header, with the formats and the look-ups that its
 * values need, and all other columns as ignored. Whatever it could not place is a text that begins with `(choose`, which
 * `parseMap` refuses.
 *
 * @throws InputError if the file cannot be read.
 */
export async function sketchMap(path: string, fieldsByKind: Fields): Promise<object> {
  const { delimiter, columns, valuesOf } = await readColumns(path);
  const kind = KINDS.map(([kind, header]) => {
    const count = columns.filter((column) => header.test(column)).length;
    // Rows of contracts have as many columns about the supplier.
    return { kind, count: kind === 'suppliers' ? Math.min(count, 1) : count };
  });
  const best = kind.sort((a, b) => b.count - a.count)[0]?.kind ?? 'contracts';
  const unused = new Set(columns);
  const details = best === 'contracts' ? supplierFields(unused) : {};
  const none = new Set(columns.flatMap((column) => valuesOf(column).filter((value) => NONE.test(value))));
  const fields: Record<string, unknown> = {};
  for (const [field, type] of Object.entries(fieldsByKind[best])) {
    const column = columnOf(best, field, [...unused]);
    if (column === undefined && !type.isRequired) continue;
    // An id is made from a column that other fields can use, too.
    if (column !== undefined && field !== 'id' && field !== 'ref') unused.delete(column);
    const values = column === undefined ? [] : valuesOf(column).filter((value) => !none.has(value));
    fields[field] = sketchField(best, field, type, column ?? CHOOSE_COLUMN, values, details);
  }
  const used = JSON.stringify(fields);
  const ignore = columns.filter(
    (column) => ![JSON.stringify(column), `{${column}}`].some((name) => used.includes(name)),
  );
  const words = none.size === 0 ? {} : { none: [...none].sort() };
  const zone = used.includes('"format":') ? { time_zone: '(choose a time zone, such as America/Chicago)' } : {};
  const separated = delimiter === ',' ? {} : { delimiter };
  return { ...zone, ...words, kinds: { [best]: { file: basename(path), ...separated, fields, ignore } } };
}

/** The column whose header tells the field; a wrong id would merge records, so that only headers of the kind's own count. */
function columnOf(kind: Kind, field: string, columns: readonly string[]): string | undefined {
  // As in `contract_number` and `ContractNumber`.
  const inWords = (column: string): string =>
    column
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .replaceAll('_', ' ')
      .trim();
  const find = (header: RegExp | undefined): string | undefined =>
    columns.find((column) => header?.test(inWords(column)) === true);
  if (field === 'supplier_ids') columns = columns.filter((column) => !ANY_NUMBER.test(inWords(column)));
  if (!['id', 'ref', 'reference_number'].includes(field))
    return find(kind === 'contracts' && field === 'name' ? CONTRACT_NAME : HEADERS[field]);
  if (kind !== 'suppliers') columns = columns.filter((column) => !OTHER_NUMBER.test(column));
  const number = `(${NAMES[kind] ?? kind}) ?(id|no|num|number|#)(?![a-z])`;
  const reference = field === 'reference_number' ? find(/\breference ?(id|no|num|number|#)(?![a-z])/i) : undefined;
  return (
    reference ?? find(new RegExp(`^${number}`, 'i')) ?? find(new RegExp(`\\b${number}`, 'i')) ?? find(/^(id|number)$/i)
  );
}

/** Takes the columns that describe a contract's supplier, as fields of the supplier. */
function supplierFields(columns: Set<string>): Record<string, unknown> {
  const take = (header: RegExp): string | undefined => {
    const found = [...columns].find((column) => OF_SUPPLIER.test(column) && header.test(column));
    columns.delete(found ?? '');
    return found;
  };
  const [email, website, city, state] = [/e-?mail/i, /web|url/i, /city/i, /state/i].map(take);
  const location = city === undefined || state === undefined ? city : { text: `{${city}}, {${state}}` };
  return Object.fromEntries(Object.entries({ location, email, website }).filter(([, value]) => value !== undefined));
}

/** The columns of a file, and the different values of each, without blanks. */
async function readColumns(
  path: string,
): Promise<{ delimiter: string; columns: string[]; valuesOf: (column: string) => string[] }> {
  const values = new Map<string, Set<string>>();
  let columns: string[] | undefined;
  let delimiter: string;
  try {
    delimiter = await findDelimiter(path);
    const parser = parse({ delimiter, skip_empty_lines: true, max_record_size: MAX_RECORD_LENGTH });
    // Errors end the loop below.
    pipeline(createReadStream(path), decodeText, parser, () => undefined);
    for await (const row of parser as AsyncIterable<string[]>) {
      const cells = row.map((cell) => cell.trim());
      columns ??= cells;
      if (columns === cells) for (const column of columns) values.set(column, new Set());
      else {
        for (const [index, value] of cells.entries()) {
          const found = values.get(columns[index] ?? '');
          const isSmall = value.length <= MAX_VALUE_LENGTH && (found?.size ?? 0) < MAX_VALUES;
          if (value !== '' && isSmall) found?.add(value);
        }
      }
    }
  } catch (error) {
    throw new InputError(`${path} cannot be read: ${(error as Error).message}`);
  }
  if (columns === undefined) throw new InputError(`${path} is empty: it needs a line of column names`);
  return { delimiter, columns, valuesOf: (column) => [...(values.get(column) ?? [])] };
}

const DELIMITERS = [',', ';', '\t', '|'];

/** The delimiter that the header has most of, without those in quotes. */
async function findDelimiter(path: string): Promise<string> {
  for await (const text of decodeText(createReadStream(path))) {
    const [header = ''] = text
      .replaceAll(/"[^"]*"/g, '')
      .trimStart()
      .split(/[\r\n]/);
    const counts = DELIMITERS.map((one) => header.split(one).length);
    return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
  }
  return ',';
}

const PREFIXES: Readonly<Record<string, string>> = {
  'lead-entities': 'le_',
  coops: 'co_',
  'city-services': 'cs_',
  suppliers: 'sup_',
  contracts: 'ctr_',
  solicitations: 'sol_',
};

function sketchField(
  kind: Kind,
  field: string,
  type: FieldType,
  column: string,
  values: readonly string[],
  details: Record<string, unknown>,
): unknown {
  const separator = [';', '|'].find((one) => values.some((value) => value.includes(one))) ?? '';
  const creates = creatableKind(type);
  if (creates !== undefined) {
    const hasDetails = field === 'supplier_ids' && Object.keys(details).length > 0;
    const inCell = type.type === 'list' && !hasDetails ? { separator } : {};
    const reference = { id_from: [column], prefix: PREFIXES[creates], ...inCell, creates };
    return hasDetails ? { ...reference, fields: details } : reference;
  }
  if (field === 'id') return { id_from: [column], prefix: PREFIXES[kind] ?? '' };
  if (type.type === 'integer') return { number_from: [column] };
  if (type.type === 'boolean') return { constant: '(choose true or false)' };
  if (type.type === 'timestamp') {
    const [format, ...others] = formatsOf(values);
    return format === undefined ? column : { column, format: others.length === 0 ? format : [format, ...others] };
  }
  const isList = type.type === 'list' || type.type === 'nigp';
  const splitter = separator || ';';
  const cell = isList ? { column, separator: splitter } : { column };
  const { accepted } = type;
  const entries = isList ? values.flatMap((value) => value.split(splitter)) : values;
  const distinct = [...new Set(entries.map((entry) => entry.trim()))].filter((entry) => entry !== '').sort();
  if (accepted === null || distinct.every((entry) => accepted.includes(entry))) return isList ? cell : column;
  const near = (text: string): string | undefined => accepted.find((one) => one.toLowerCase() === text.toLowerCase());
  const mark = `(choose one of ${accepted.slice(0, MAX_NAMED).join(', ')}${accepted.length > MAX_NAMED ? ', …' : ''})`;
  return { ...cell, values: Object.fromEntries(distinct.map((entry) => [entry, near(entry) ?? mark])) };
}

/** The formats that the values have, most common first, and a mark for one with no known format; none if they are timestamps. */
function formatsOf(values: readonly string[]): string[] {
  if (values.every((value) => parseTimestamp(value) !== null)) return [];
  const fits = (value: string, format: string): boolean =>
    DateTime.fromFormat(value, format, { locale: 'en-US' }).isValid;
  const formats: string[] = [];
  let others = values;
  while (others.length > 0) {
    const counts = DATE_FORMATS.map((format) => others.filter((value) => fits(value, format)).length);
    const best = DATE_FORMATS[counts.indexOf(Math.max(...counts))];
    if (best === undefined || Math.max(...counts) === 0)
      return [...formats, `(choose a format for ${others[0] ?? ''})`];
    formats.push(best);
    others = others.filter((value) => !fits(value, best));
  }
  return formats;
}
