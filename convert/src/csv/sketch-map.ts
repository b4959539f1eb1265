import { basename } from 'node:path';
import { DateTime } from 'luxon';
import { parseTimestamp } from '../dates.ts';
import type { Kind } from '../import-format.ts';
import { creatableKind, type Fields, type FieldType } from './fields.ts';
import { readColumns, type Columns } from './read-columns.ts';

/** Mark for a column that the operator must name. */
export const CHOOSE_COLUMN = '(choose a column)';

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
  nigp_codes: /nigp|commodity code/i,
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

const NIGP_DESCRIPTION = /(nigp|commodity).*(descri|name|title)/i;

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
 * A first map of CSV files: fields whose column was recognised by its header, with the formats and the look-ups that its
 * values need, and all other columns as ignored. Whatever it could not place is a text that begins with `(choose`, which
 * `parseMap` refuses. The remarks say what else was guessed.
 *
 * @throws InputError if a file is no CSV, or two of its columns have one name.
 */
export async function sketchMap(
  paths: readonly string[],
  fieldsByKind: Fields,
): Promise<{ map: object; remarks: string[] }> {
  const words = new Set<string>();
  const kinds: Record<string, object[]> = {};
  const remarks: string[] = [];
  for (const path of paths) {
    const columns = await readColumns(path);
    const { kind, none, entry } = sketchFile(columns, fieldsByKind);
    for (const word of none) words.add(word);
    (kinds[kind] ??= []).push({ file: basename(path), ...columns.settings, ...entry });
    remarks.push(...columns.remarks.map((remark) => `${basename(path)}: ${remark}`));
  }
  const entries = Object.entries(kinds).map(([kind, files]) => [kind, files.length === 1 ? files[0] : files]);
  const hasDates = JSON.stringify(kinds).includes('"format":');
  const map = {
    ...(hasDates ? { time_zone: '(choose a time zone, such as America/Chicago)' } : {}),
    ...(words.size === 0 ? {} : { none: [...words].sort() }),
    kinds: Object.fromEntries(entries) as object,
  };
  return { map, remarks };
}

/** The fields of one file, and the words in it that mean a blank cell. */
function sketchFile(
  { columns, valuesOf }: Columns,
  fieldsByKind: Fields,
): { kind: Kind; none: ReadonlySet<string>; entry: object } {
  const counts = KINDS.map(([kind, header]) => {
    const count = columns.filter((column) => header.test(column)).length;
    // Rows of contracts have as many columns about the supplier.
    return { kind, count: kind === 'suppliers' ? Math.min(count, 1) : count };
  });
  const kind = counts.sort((a, b) => b.count - a.count)[0]?.kind ?? 'contracts';
  const unused = new Set(columns);
  const details = kind === 'contracts' ? supplierFields(unused) : {};
  const description = kind === 'solicitations' ? columns.find((column) => NIGP_DESCRIPTION.test(column)) : undefined;
  unused.delete(description ?? '');
  const none = new Set(columns.flatMap((column) => valuesOf(column).filter((value) => NONE.test(value))));
  const fields: Record<string, unknown> = {};
  for (const [field, type] of Object.entries(fieldsByKind[kind])) {
    // Many exports have one date that is both.
    const opened = field === 'created_at' ? columnOf(kind, 'open_at', columns) : undefined;
    const column = columnOf(kind, field, [...unused]) ?? opened;
    if (column === undefined && !type.isRequired) continue;
    // An id is made from a column that other fields can use, too.
    if (column !== undefined && field !== 'id' && field !== 'ref') unused.delete(column);
    const values = column === undefined ? [] : valuesOf(column).filter((value) => !none.has(value));
    fields[field] = sketchField(kind, field, type, column ?? CHOOSE_COLUMN, values, details, description);
  }
  const used = JSON.stringify(fields);
  const ignore = columns.filter(
    (column) => ![JSON.stringify(column), `{${column}}`].some((name) => used.includes(name)),
  );
  return { kind, none, entry: { fields, ignore } };
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
  description: string | undefined,
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
  const described = type.type === 'nigp' && description !== undefined ? { description } : {};
  const cell = isList ? { column, separator: splitter, ...described } : { column };
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
