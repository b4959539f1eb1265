import { KINDS, type Kind } from '../../kinds.ts';
import { certificationFields } from '../../resources/certifications/fields.ts';
import { contractFields } from '../../resources/contracts/fields.ts';
import {
  FILLED_TEXT,
  importObject,
  importSchema,
  type Fields,
  type ImportSchema,
  type RecordOf as RecordFrom,
} from '../../resources/fields.ts';
import { namedFields } from '../../resources/reference-lists/fields.ts';
import { solicitationFields } from '../../resources/solicitations/fields.ts';
import { supplierFields } from '../../resources/suppliers/fields.ts';
import { parseTimestamp } from '../../timestamp.ts';

const KIB = 1024;

/**
 * The longest line of each kind, in bytes of UTF-8. Each contract repeats its suppliers, and a page holds a hundred
 * records: one supplier of 6 MB made a database of 607 MB. The longest lines of real data have 3 kB, or 65 kB for
 * solicitations with all notices and questions.
 */
export const MAX_LINE_BYTES: Readonly<Record<Kind, number>> = {
  'lead-entities': 256 * KIB,
  coops: 256 * KIB,
  'city-services': 256 * KIB,
  certifications: 256 * KIB,
  suppliers: 256 * KIB,
  contracts: 256 * KIB,
  solicitations: 2 * 1024 * KIB,
};

/** The reason why a line of this many bytes is refused; null if it is not. */
export function describeTooLong(kind: Kind, bytes: number): string | null {
  const maxBytes = MAX_LINE_BYTES[kind];
  return bytes > maxBytes ? `is ${bytes} bytes long; the maximum for a line of this file is ${maxBytes}` : null;
}

/** The fields of each kind. */
export const FIELDS = {
  'lead-entities': namedFields,
  coops: namedFields,
  'city-services': namedFields,
  certifications: certificationFields,
  suppliers: supplierFields,
  contracts: contractFields,
  solicitations: solicitationFields,
} as const satisfies Record<Kind, Fields>;

/** The record type of each kind's file. */
export type RecordOf = { [K in Kind]: RecordFrom<(typeof FIELDS)[K]> };

/** The schema of a line that adds or replaces a record. */
export const RECORD_SCHEMAS = Object.fromEntries(KINDS.map((kind) => [kind, importSchema(FIELDS[kind])])) as Readonly<
  Record<Kind, ImportSchema>
>;

/** The schema of a line that removes a record; `key` is its key field. */
export function removalSchema(key: 'id' | 'abbreviation'): object {
  return importObject({ [key]: FILLED_TEXT, deleted: { type: 'boolean', const: true, description: 'must be true' } });
}

/**
 * Creates the function that completes a validated value: fills in what was left out, and normalizes timestamps and the
 * order of fields, so that equal records serialize equally. Leaves out `updated_at`, which is not part of a record.
 */
export function completerOf({ type, format, properties, items, isSorted }: ImportSchema): (value: unknown) => unknown {
  if (format === 'timestamp') return (value) => (typeof value === 'string' ? parseTimestamp(value) : null);
  if (properties !== undefined) {
    const fields = Object.entries(properties)
      .filter(([name]) => name !== 'updated_at')
      .map(([name, field]) => [name, completerOf(field)] as const);
    return (value) => {
      const completed: Record<string, unknown> = {};
      for (const [name, complete] of fields) completed[name] = complete((value as Record<string, unknown>)[name]);
      return completed;
    };
  }
  if (type !== 'array' || items === undefined) return (value) => value ?? null;
  if (items.properties === undefined)
    return (value = []) => (isSorted === true ? (value as string[]).toSorted() : value);
  const complete = completerOf(items);
  return (value = []) => (value as unknown[]).map(complete);
}
