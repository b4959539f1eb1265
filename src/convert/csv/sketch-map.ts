import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream';
import { parse } from 'csv-parse';
import { DateTime } from 'luxon';
import { parseTimestamp } from '../../timestamp.ts';
import { decodeText } from './decode-text.ts';
import { FIELDS, type FieldType } from './fields.ts';
import type { Kind } from '../../kinds.ts';
import { OperatorError } from '../../operator-error.ts';

/** Placeholder for a column that the operator must name. */
export const CHOOSE_COLUMN = '(choose a column)';

const SAMPLED_ROWS = 200;
/** A column with at most this many different values gets a look-up of them. */
const MAX_LISTED_VALUES = 20;
const DATE_FORMATS = [
  ...['yyyy-MM-dd', 'yyyy-MM-dd HH:mm', 'yyyy-MM-dd HH:mm:ss', "yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss.SSS"],
  ...[
    'M/d/yyyy',
    'M/d/yyyy h:mm a',
    'M/d/yyyy h:mm:ss a',
    'M/d/yyyy H:mm',
    'M/d/yy',
    'd.M.yyyy',
    'd-MMM-yyyy',
    'd-MMM-yy',
  ],
  ...['MMMM d, yyyy', 'MMM d, yyyy', 'yyyy/MM/dd', 'yyyyMMdd'],
];

/** Headers by which a field is recognised, most telling first. */
const HEADERS: Readonly<Record<string, RegExp>> = {
  id: /^(id|.*\b(contract|bid|solicitation|vendor|supplier) ?(id|no|num(ber)?|#)|.*number)$/i,
  ref: /^(ref|.*number|id)$/i,
  reference_number: /(reference|bid|solicitation|rfp).*(no|num|number|#|id)/i,
  title: /title|^name$|project|subject/i,
  name: /^(contract |company |business |vendor |supplier |firm )?(name|title)$|company|business name|legal name/i,
  status: /status|state of/i,
  lead_entity_id: /agency|department|entity|organi[sz]ation|owner|buyer|jurisdiction|city$/i,
  coop_id: /co-?op/i,
  supplier_ids: /vendor|supplier|contractor|awardee|company/i,
  city_service_ids: /categor|commodit|service|class/i,
  open_at: /(open|issue|post|release|publish|advertis|start).*(date|time)?/i,
  close_at: /(clos|due|deadline|end|expir).*(date|time)?/i,
  questions_due_at: /question/i,
  created_at: /creat|post|publish|issue/i,
  updated_at: /updat|modif|chang/i,
  description: /descri|scope|detail/i,
  summary: /summary|term|period/i,
  nigp_codes: /nigp/i,
  certifications: /certif|mbe|wbe|dbe/i,
  states_served: /states/i,
  location: /^(location|address|city.*state)$/i,
  website: /web|url/i,
  email: /e-?mail/i,
  about: /about|capabilit|descri/i,
  issuing_organization: /issu(er|ing)/i,
};

/** A contract is named for what it is about, not for its vendor. */
const CONTRACT_NAME = /^(contract )?(name|title)$|title|descri|subject/i;

/** Which headers tell a kind. */
const KINDS: readonly [Kind, RegExp][] = [
  ['solicitations', /bid|solicit|rfp|rfq|due|clos|advertis/i],
  ['contracts', /contract|award|expir/i],
  ['suppliers', /vendor|supplier|company|business|firm/i],
];

/**
 * A first map of a CSV file: fields whose column was recognised by its header, with the format of dates and the values
 * to look up taken from the first rows; required fields that were not recognised, to be filled in; and all other
 * columns as ignored.
 *
 * @throws OperatorError if the file cannot be read.
 */
export async function sketchMap(path: string): Promise<object> {
  const { columns, rows } = await readSample(path);
  const kind = KINDS.map(([kind, header]) => ({ kind, count: columns.filter((column) => header.test(column)).length }));
  const best = kind.sort((a, b) => b.count - a.count)[0]?.kind ?? 'contracts';
  const unused = new Set(columns);
  const fields: Record<string, unknown> = {};
  for (const [field, type] of Object.entries(FIELDS[best])) {
    const header = best === 'contracts' && field === 'name' ? CONTRACT_NAME : HEADERS[field];
    const column = [...unused].find((name) => header?.test(name.trim()) === true);
    if (column === undefined && !type.isRequired) continue;
    // An id is made from a column that other fields can use, too.
    if (column !== undefined && field !== 'id' && field !== 'ref') unused.delete(column);
    const values = rows.map((row) => row[columns.indexOf(column ?? '')]?.trim() ?? '').filter((value) => value !== '');
    fields[field] = sketchField(best, field, type, column ?? CHOOSE_COLUMN, values);
  }
  const used = JSON.stringify(fields);
  const ignore = columns.filter((column) => !used.includes(JSON.stringify(column)));
  return { time_zone: 'UTC', kinds: { [best]: { file: basename(path), fields, ignore } } };
}

async function readSample(path: string): Promise<{ columns: string[]; rows: string[][] }> {
  const rows: string[][] = [];
  try {
    const parser = parse({ to: SAMPLED_ROWS, skip_empty_lines: true });
    // Errors end the loop below.
    pipeline(createReadStream(path), decodeText, parser, () => undefined);
    for await (const row of parser as AsyncIterable<string[]>) rows.push(row);
  } catch (error) {
    throw new OperatorError(`${path} cannot be read: ${(error as Error).message}`);
  }
  const [columns, ...others] = rows;
  if (columns === undefined) throw new OperatorError(`${path} is empty: it needs a line of column names`);
  return { columns: columns.map((column) => column.trim()), rows: others };
}

const PREFIXES: Readonly<Record<string, string>> = {
  'lead-entities': 'le_',
  coops: 'co_',
  'city-services': 'cs_',
  suppliers: 'sup_',
  contracts: 'ctr_',
  solicitations: 'sol_',
};

function sketchField(kind: Kind, field: string, type: FieldType, column: string, values: readonly string[]): unknown {
  if (type.refersTo !== undefined) {
    const separator =
      type.type === 'list' ? { separator: values.some((value) => value.includes(';')) ? ';' : '|' } : {};
    return { id_from: [column], prefix: PREFIXES[type.refersTo], ...separator, creates: type.refersTo };
  }
  if (field === 'id') return { id_from: [column], prefix: PREFIXES[kind] ?? '' };
  if (type.type === 'integer') return { number_from: [column] };
  if (type.type === 'boolean') return { constant: false };
  if (type.type === 'timestamp') {
    const format = formatOf(values);
    return format === null ? column : { column, format };
  }
  if (type.type === 'list' || type.type === 'nigp') return { column, separator: ';' };
  if (field !== 'status' && field !== 'type') return column;
  const distinct = [...new Set(values)].sort().slice(0, MAX_LISTED_VALUES);
  return { column, values: Object.fromEntries(distinct.map((value) => [value, value.toLowerCase()])) };
}

/** The format that all values have; null if they are timestamps, or have none of the known formats. */
function formatOf(values: readonly string[]): string | null {
  if (values.length === 0 || values.every((value) => parseTimestamp(value) !== null)) return null;
  const fits = (format: string): boolean =>
    values.every((value) => DateTime.fromFormat(value, format, { locale: 'en-US' }).isValid);
  return DATE_FORMATS.find(fits) ?? null;
}
