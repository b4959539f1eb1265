import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../kinds.ts';

export const CHANGE_SORTS = ['added', 'changed', 'removed'] as const;

export type ChangeSort = (typeof CHANGE_SORTS)[number];

/** A field that differs. `before` is missing for a new list element, `after` for a removed one. */
export interface FieldChange {
  /** The path in the import format, such as `documents[2].name`. */
  readonly field: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** A record that an import adds, changes or removes. Records are complete, in the import format. */
export type RecordChange = {
  readonly kind: Kind;
  /** The abbreviation of a certification. */
  readonly id: string;
  /** Its name or title: the new one if it changed. */
  readonly name: string;
} & (
  | { readonly change: 'added' | 'removed'; readonly record: object }
  | { readonly change: 'changed'; readonly fields: readonly FieldChange[] }
);

/** Receives the changes of an import while it runs, except records that are only rerendered. */
export interface ChangeSink {
  /** The number of further changes of this sort that it accepts. The import reads no old values beyond them. */
  room(kind: Kind, sort: ChangeSort): number;
  add(change: RecordChange): void;
}

/** Describes a change; `before` is null for a new record, `after` for a removed one. */
export function describeChange(kind: Kind, id: string, before: object | null, after: object | null): RecordChange {
  const record = after ?? before ?? {};
  const { name, title } = record as { name?: string; title?: string };
  const identity = { kind, id, name: name ?? title ?? '' };
  return before !== null && after !== null
    ? { ...identity, change: 'changed', fields: compareRecords(before, after) }
    : { ...identity, change: before === null ? 'added' : 'removed', record };
}

/** Compares two records field by field, and lists of objects by index. A list of ids or codes is one value. */
function compareRecords(before: object, after: object, prefix = ''): FieldChange[] {
  const old = before as Readonly<Record<string, unknown>>;
  return Object.entries(after).flatMap(([name, value]) => compare(`${prefix}${name}`, old[name], value));
}

function compare(field: string, before: unknown, after: unknown): FieldChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after) && (before.some(isObject) || after.some(isObject))) {
    const indexes = Array.from({ length: Math.max(before.length, after.length) }, (_, index) => index);
    return indexes.flatMap((index) => compare(`${field}[${index}]`, before[index], after[index]));
  }
  if (isObject(before) && isObject(after)) return compareRecords(before, after, `${field}.`);
  return [{ field, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
