import { sql } from 'kysely';
import type { OpenDatabase } from '../database/database.ts';
import { limitSlot, type SlotValues } from '../database/statement.ts';
import { allOf } from './conditions.ts';
import type { OwnedRecords } from './owned-records.ts';
import { isNewSince, isVisible, type ScopeShape } from './scope-sql.ts';

/** Filters that leave one lead entity or coop, whose index is walked. */
export const OWNER_FILTERS: readonly string[] = ['lead_entity', 'coop'];

/** So many are looked at by one statement: some milliseconds. */
const FEW = 5_000;

/** What decides which records a walk without the search index looks at. */
export interface LookShape extends ScopeShape {
  readonly byPublication: boolean;
  /** The names of all filters of the request. */
  readonly filters: readonly string[];
}

/** Whether a walk without the search index meets no record but those that it gives. */
export function meetsNothingElse(
  { indexed }: OwnedRecords,
  { everything, since, byPublication, filters }: LookShape,
): boolean {
  const looked = filters.filter((name) => name !== 'updated_since');
  if (since !== 'all') return everything && since === 'changed' && byPublication && looked.length === 0;
  if (!everything) return looked.length === 0;
  return indexed.some((names) => names.length === looked.length && names.every((name) => looked.includes(name)));
}

/**
 * Whether a walk without the search index has few records to look at, in all of the list: of
 * the publications since an instant, of the lead entity that is asked for, or of the scope. Counts no more than few.
 */
export async function hasFewToLookAt(
  database: OpenDatabase,
  records: OwnedRecords,
  shape: LookShape,
  values: SlotValues,
): Promise<boolean> {
  const { engine } = database;
  const { everything, since, byPublication, filters } = shape;
  const owners = filters.filter((name) => OWNER_FILTERS.includes(name));
  const bySince = since !== 'all' && byPublication;
  if (!bySince && owners.length === 0 && everything) return false;
  const key = { everything, since, bySince, owners };
  const [counted] = await database.run<{ counted: number }>(
    `few ${records.table} ${JSON.stringify(key)}`,
    () => {
      const looked = bySince
        ? [isNewSince(engine, shape, records)]
        : owners.length > 0
          ? owners.map((name) => records.filters[name] ?? null)
          : [isVisible(engine, shape, records)];
      return sql<{ counted: number }>`select count(*) as counted from (
        select 1 from ${sql.table(`catalog.${records.table}`)} as ${sql.ref(records.alias)}
        where ${allOf(looked)} limit ${limitSlot('most')}) as looked`;
    },
    { ...values, most: FEW },
  );
  return (counted?.counted ?? 0) < FEW;
}
