import { sql } from 'kysely';
import type { Scope } from '../access/scope.ts';
import type { Engine, OpenDatabase } from '../database/database.ts';
import { plannedAt } from '../paging/events.ts';
import type { CountQuery } from '../paging/answer-record.ts';
import type { WalkPlace } from '../paging/answer-list.ts';
import type { Walk } from '../paging/snapshot.ts';
import { coopMark, leadEntityMark, type DeadlineWindow, type Marks } from '../search/marks.ts';
import type { SearchPlanner, SearchQuestion } from '../search/search-plan.ts';
import type { Condition } from './conditions.ts';
import { hasFewToLookAt, meetsNothingElse, OWNER_FILTERS } from './few-records.ts';
import { shapeByPublications } from './publications-since.ts';
import { countFound, countRecords, walkRecords, type NumberedTable } from './record-walk.ts';
import { isNewSince, isVisible, scopeValues, shapeOfScope, type OwnedRow, type ScopeShape } from './scope-sql.ts';
import { walkScope } from './scope-walk.ts';

/** A table whose records belong to lead entities or coops. */
export interface OwnedRecords extends NumberedTable, OwnedRow {
  /** What holds for all that are served. */
  readonly served: readonly Condition[];
  /** The condition of each filter, but for `q` and `updated_since`. */
  readonly filters: Readonly<Record<string, Condition>>;
  /** Filters that an index answers together, so that a walk meets nothing else. */
  readonly indexed: readonly (readonly string[])[];
}

/** What a request asks for. */
export interface OwnedFilters {
  readonly q?: string;
  readonly updated_since?: string;
  readonly [name: string]: string;
}

/** What of the filters the search index knows by itself. */
export interface KnownFilters {
  readonly marks: Marks;
  readonly window: DeadlineWindow | null;
}

/** More grants than this are looked at on each record: FTS5 goes through all of them at every match. */
const MOST_OWNER_MARKS = 200;

/**
 * One page of the records that the scope sees. Walks, in the order of numbers:
 * - for a scope, the indexes on lead entity or coop and number, once for each that is granted;
 * - for `updated_since`, the index on publication and number, once for each publication since;
 * - for `q`, what the search index gives, or the walk that there would be without it (`search-plan.ts`);
 * - else the index on what a filter asks for, or the primary key.
 */
export async function walkOwned(
  database: OpenDatabase,
  planner: SearchPlanner,
  records: OwnedRecords,
  { scope, filters, known, place }: { scope: Scope; filters: OwnedFilters; known: KnownFilters; place: WalkPlace },
): Promise<Walk> {
  const { engine } = database;
  const asked = { scope, filters, known, isFresh: place.isFresh };
  const { since, scopeShape, question } = await understand(database, records, asked);
  const search = question === null ? null : await planner.plan(question);
  const planned = {
    ...scopeShape,
    isOfOneOwner: OWNER_FILTERS.some((name) => filters[name] !== undefined),
    filters: Object.keys(filters).sort(),
    search: search?.mode ?? ('none' as const),
    hasAfter: place.after !== null,
  };
  const values = { ...filters, ...scopeValues(scope, since), ...search?.values, after: place.after, upto: place.upto };
  const isWhole =
    place.upto === null ||
    (search === null && meetsNothingElse(records, planned)) ||
    (place.earlier === 1 &&
      (search?.mode === 'index'
        ? await planner.hasFewMatches(search)
        : await hasFewToLookAt(database, records, planned, values)));
  const upto = isWhole ? null : place.upto;
  const shape = { ...planned, hasUpto: upto !== null };
  return {
    shape: `${records.table} ${JSON.stringify(shape)}`,
    build: () => {
      const { conditions, each } = walkScope(engine, records, shape);
      const all = [...records.served, ...filterConditions(records, shape.filters), ...conditions];
      return walkRecords(engine, records, { ...shape, conditions: all, each });
    },
    values,
    asOf: plannedAt(search),
    upto,
  };
}

/** How many records match: counted in the search index as far as it knows what is asked, else in the narrowest index. */
export async function countOwned(
  database: OpenDatabase,
  planner: SearchPlanner,
  records: OwnedRecords,
  { scope, filters, known, place }: { scope: Scope; filters: OwnedFilters; known: KnownFilters; place: WalkPlace },
): Promise<CountQuery> {
  const { engine } = database;
  const asked = { scope, filters, known, isFresh: place.isFresh };
  const { since, scopeShape, question } = await understand(database, records, asked);
  const search = question === null ? null : await planner.planCount(question);
  const planned = {
    ...scopeShape,
    filters: Object.keys(filters).sort(),
    search: search?.mode ?? ('none' as const),
    isCovered:
      scopeShape.since === 'all' && (scope.everythingSince !== null || ownerMarks(scope, records.hasCoop) !== null),
    hasEdge: known.window !== null,
    hasAfter: place.after !== null,
  };
  const values = { ...filters, ...scopeValues(scope, since), ...search?.values, after: place.after, upto: place.upto };
  const isWhole =
    place.upto === null ||
    (place.earlier === 0 &&
      (search === null
        ? await hasFewToLookAt(database, records, planned, values)
        : await planner.hasFewMatches(search)));
  const upto = isWhole ? null : place.upto;
  const shape = { ...planned, hasUpto: upto !== null };
  return {
    shape: `count ${records.table} ${JSON.stringify(shape)}`,
    build: () => {
      if (shape.search === 'nothing') return sql<{ total: number }>`select 0 as total`;
      const conditions = ownedConditions(engine, records, shape);
      return shape.search === 'none'
        ? countRecords(
            records,
            { ...shape, byPublication: shape.byPublication && shape.since === 'changed' },
            conditions,
          )
        : countFound(engine, records, shape, conditions);
    },
    values,
    asOf: plannedAt(search),
    upto,
  };
}

/** All that holds for the records that a request asks for and the scope sees, but for words. */
export function ownedConditions(
  engine: Engine,
  records: OwnedRecords,
  shape: ScopeShape & { readonly filters: readonly string[] },
): (Condition | null)[] {
  return [
    ...records.served,
    ...filterConditions(records, shape.filters),
    isVisible(engine, shape, records),
    isNewSince(engine, shape, records),
  ];
}

function filterConditions({ filters }: OwnedRecords, names: readonly string[]): Condition[] {
  return names.flatMap((name) => filters[name] ?? []);
}

/** What a request asks of the records, and of the search index; no question without `q`. */
async function understand(
  database: OpenDatabase,
  { hasCoop }: OwnedRecords,
  asked: { scope: Scope; filters: OwnedFilters; known: KnownFilters; isFresh: boolean },
) {
  const { scope, filters, isFresh } = asked;
  const { q, updated_since: since = null } = filters;
  const scopeShape = await shapeByPublications(database, shapeOfScope(scope, since), since);
  const { marks, window } = asked.known;
  const ofScope = scope.everythingSince === null ? ownerMarks(scope, hasCoop) : null;
  const question: SearchQuestion | null =
    q === undefined
      ? null
      : {
          q,
          marks: ofScope === null ? marks : [...marks, ofScope],
          window,
          isSince: scopeShape.since !== 'all',
          hasNewGrants: scopeShape.since === 'granted',
          isFresh,
        };
  return { since, scopeShape, question };
}

/** The marks of all that is granted one by one; null where these are too many to be looked up. */
function ownerMarks({ leadEntities, coops }: Scope, hasCoop: boolean): string[] | null {
  const marks = [...leadEntities.keys()].map(leadEntityMark);
  if (hasCoop) marks.push(...[...coops.keys()].map(coopMark));
  return marks.length > MOST_OWNER_MARKS ? null : marks;
}
