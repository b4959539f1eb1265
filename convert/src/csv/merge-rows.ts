import { setImmediate } from 'node:timers/promises';
import { KINDS, type Kind } from '../import-format.ts';
import { normalizeName } from '../ids.ts';
import { isObject, type JsonObject } from '../json.ts';
import type { ConversionReport } from '../report.ts';
import type { StoredPart, Workspace } from '../workspace.ts';
import type { Fields } from './fields.ts';
import { fieldsIn, type CsvMap } from './map-file.ts';
import { quoted } from './read-rows.ts';

const PARTS_PER_TICK = 1000;

/** The key of what the rows say of a record. Records sort after those that they refer to. */
export function recordKey(kind: Kind, id: string): string {
  return `${KINDS.indexOf(kind)} ${id}`;
}

/**
 * Unites what the rows say of each record: lists are united, other values must be equal or blank. A record that refers to
 * a refused one is refused, too, so that the others can be imported. The memory holds one record at a time.
 *
 * @param onTick called between records.
 */
export async function mergeRows(
  map: CsvMap,
  workspace: Workspace,
  report: ConversionReport,
  onTick: () => void,
): Promise<void> {
  const columns = columnsByField(map);
  const refusedKeys = new Set<string>();
  const finish = (merge: RecordMerge): void => {
    const { kind, id, key, first, count, rows, isRefused, conflicts, record } = merge;
    let isWhole = !isRefused;
    const refuse = ({ file, place }: StoredPart, field: string, reason: string, value?: string): void => {
      isWhole = false;
      report.refuse({ file, place, field, id, reason, value, kinds: [kind] });
    };
    for (const { part, field, value, other } of conflicts.values()) {
      const column = quoted(columns.get(`${kind}.${field}`) ?? []);
      const differs = `${JSON.stringify(value)} differs from ${JSON.stringify(other.value)} in ${other.part.place}`;
      const accepted = `of ${other.part.file}; rows with one id must have equal values, or blanks`;
      refuse(part, field, `column ${column}: ${differs} ${accepted}`, differs);
    }
    const dangling = isWhole && refusedKeys.size > 0 ? referencesTo(refusedKeys, map.fields[kind], record) : [];
    for (const { field, to } of dangling) refuse(first, field, `refers to ${to}, which is refused`, to);
    // Each row was checked alone.
    const problems = isWhole && count > 1 ? workspace.check(kind, record) : [];
    for (const { field, reason } of problems) refuse(first, field, `together with other rows: ${reason}`);
    if (isWhole) workspace.putRecord(kind, id, '', record);
    else refusedKeys.add(key);
    // That other rows mention one record is no merging that could be a mistake.
    if (isWhole && rows > 1 && first.form === 'row') report.merged(kind, rows);
  };
  let merge: RecordMerge | undefined;
  let count = 0;
  for (const part of workspace.parts()) {
    if (count % PARTS_PER_TICK === 0) {
      // A signal is received between ticks only.
      await setImmediate();
      onTick();
    }
    count += 1;
    if (part.key !== merge?.key) {
      if (merge !== undefined) finish(merge);
      merge = new RecordMerge(part, map.fields);
    } else if (part.form === 'row' && merge.first.form === 'mention') merge = new RecordMerge(part, map.fields);
    if (part.form === merge.first.form) merge.add(part);
  }
  if (merge !== undefined) finish(merge);
}

interface Origin {
  value: unknown;
  part: StoredPart;
}

/** A record, united from parts in any order. */
class RecordMerge {
  readonly key: string;
  readonly kind: Kind;
  readonly id: string;
  readonly first: StoredPart;
  /** The first conflict of each field. */
  readonly conflicts = new Map<string, Origin & { field: string; other: Origin }>();
  /** Whether a row was refused. */
  isRefused = false;
  /** The number of different parts. */
  count = 0;
  /** The number of all parts. */
  rows = 0;
  readonly #values = new Map<string, Origin>();
  readonly #lists = new Map<string, Map<string, unknown>>();

  readonly #fields: Fields[Kind];

  constructor(first: StoredPart & { key: string }, fields: Fields) {
    const space = first.key.indexOf(' ');
    const kind = KINDS[Number(first.key.slice(0, space))];
    if (kind === undefined) throw new Error(`${first.key} is not the key of a record`);
    this.key = first.key;
    this.kind = kind;
    this.id = first.key.slice(space + 1);
    this.first = first;
    this.#fields = fields[kind];
  }

  add(part: StoredPart): void {
    const record = JSON.parse(part.json) as JsonObject | null;
    this.isRefused ||= record === null;
    this.count += 1;
    this.rows += part.times ?? 1;
    for (const [field, value] of Object.entries(record ?? {})) {
      if (Array.isArray(value)) this.#addEntries(field, value);
      else this.#addValue(field, value, part);
    }
  }

  #addEntries(field: string, entries: readonly unknown[]): void {
    const list = this.#lists.get(field) ?? new Map<string, unknown>();
    this.#lists.set(field, list);
    for (const entry of entries) {
      const key = JSON.stringify(isObject(entry) ? entry['code'] : entry);
      // Of several descriptions of an NIGP code, one that is not blank is chosen whatever the order of rows.
      const other = list.get(key);
      if (other === undefined || JSON.stringify(entry) > JSON.stringify(other)) list.set(key, entry);
    }
  }

  #addValue(field: string, value: unknown, part: StoredPart): void {
    const other = this.#values.get(field);
    const isReference = this.#fields[field]?.refersTo !== undefined;
    if (other === undefined || other.value === null) this.#values.set(field, { value, part });
    else if (value !== null) {
      const spelling = isReference ? null : commonSpelling(value, other.value);
      if (spelling !== null) this.#values.set(field, { ...other, value: spelling });
      else if (value !== other.value && !this.conflicts.has(field))
        this.conflicts.set(field, { field, value, part, other });
    }
  }

  get record(): JsonObject {
    const record: JsonObject = {};
    for (const field of Object.keys(this.#fields)) {
      const list = this.#lists.get(field);
      const value = this.#values.get(field);
      if (list !== undefined) record[field] = this.#entries(list);
      else if (value !== undefined) record[field] = value.value;
    }
    return record;
  }

  /** Sorted if they are from several rows, whose order makes no difference. */
  #entries(list: ReadonlyMap<string, unknown>): unknown[] {
    if (this.count === 1) return [...list.values()];
    return [...list].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
  }
}

/** As in ids, case and spacing make no difference. Of two spellings, one is chosen whatever the order of rows. */
function commonSpelling(one: unknown, other: unknown): string | null {
  if (typeof one !== 'string' || typeof other !== 'string' || normalizeName(one) !== normalizeName(other)) return null;
  return one > other ? one : other;
}

/** The columns of each `kind.field`, in all files. */
function columnsByField({ files }: CsvMap): Map<string, Set<string>> {
  const columns = new Map<string, Set<string>>();
  for (const { kind, field, map } of files.flatMap(fieldsIn)) {
    const name = `${kind}.${field}`;
    columns.set(name, new Set([...(columns.get(name) ?? []), ...map.columns]));
  }
  return columns;
}

/** The fields of a record that refer to one of the refused. */
function referencesTo(
  refusedKeys: ReadonlySet<string>,
  fields: Fields[Kind],
  record: JsonObject,
): { field: string; to: string }[] {
  return Object.entries(fields).flatMap(([field, { refersTo }]) => {
    if (refersTo === undefined) return [];
    const ids = [record[field] ?? []].flat().map(String);
    const refused = ids.find((id) => refusedKeys.has(recordKey(refersTo, id)));
    return refused === undefined ? [] : [{ field, to: refused }];
  });
}
