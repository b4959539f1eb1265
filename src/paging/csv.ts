import { stringify } from 'csv-stringify/sync';
import type { Schema } from '../http/openapi/openapi-schemas.ts';

export interface CsvColumn {
  /** `coop.id` for the field `id` of the object `coop`. */
  readonly header: string;
  readonly field: string;
  /** The field of the embedded object; null if the record's field is the cell. */
  readonly part: 'id' | 'name' | null;
}

/** The fields of a list's records in the order of their declaration; an embedded record has two, `id` and `name`. */
export function csvColumns(properties: Readonly<Record<string, Schema>>): readonly CsvColumn[] {
  return Object.entries(properties).flatMap(([field, { allOf, oneOf }]): CsvColumn[] =>
    allOf === undefined && oneOf === undefined
      ? [{ header: field, field, part: null }]
      : (['id', 'name'] as const).map((part) => ({ header: `${field}.${part}`, field, part })),
  );
}

/** The header line. */
export function csvHeader(columns: readonly CsvColumn[]): string {
  return render([columns.map(({ header }) => header)]);
}

/**
 * Records as lines of CSV (RFC 4180). Null is an empty cell, a list JSON in one cell. Formulas are not escaped: that
 * would change negative numbers and titles.
 *
 * @param records JSON, each followed by a line feed.
 */
export function csvLines(records: Uint8Array, columns: readonly CsvColumn[]): string {
  const lines = new TextDecoder().decode(records).split('\n').slice(0, -1);
  return render(
    lines.map((line) => {
      const record = JSON.parse(line) as Readonly<Record<string, unknown>>;
      return columns.map(({ field, part }) => cellOf(record[field], part));
    }),
  );
}

function cellOf(value: unknown, part: CsvColumn['part']): string {
  if (value === null || value === undefined) return '';
  if (part !== null) return (value as Readonly<Record<string, string>>)[part] ?? '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function render(rows: readonly (readonly string[])[]): string {
  // By itself the library quotes no lone CR or LF, which readers take for the end of a line.
  return stringify(rows as string[][], { record_delimiter: 'windows', quoted_match: /[\r\n]/ });
}
