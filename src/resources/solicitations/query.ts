import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { OpenDatabase } from '../../database/database.ts';
import { slot } from '../../database/statement.ts';
import type { CountQuery, RecordQuery } from '../../paging/answer-record.ts';
import type { WalkPlace } from '../../paging/answer-list.ts';
import type { ListedRecords, Walk } from '../../paging/snapshot.ts';
import { countMatches } from '../../search/search-index.ts';
import type { SearchPlanner } from '../../search/search-plan.ts';
import { allOf, type Condition } from '../conditions.ts';
import { withUpdatedAt } from '../finished-text.ts';
import { countRecords, walkRecords } from '../record-walk.ts';
import { shapeByPublications } from '../publications-since.ts';
import { isNewSince, isVisible, scopeValues, shapeOfScope } from '../scope-sql.ts';
import { walkScope } from '../scope-walk.ts';

export interface SolicitationFilters {
  q?: string;
  status?: string;
  lead_entity?: string;
  closing_after?: string;
  closing_before?: string;
  updated_since?: string;
}

const SOLICITATION = { table: 'solicitations', alias: 'solicitation', hasCoop: false } as const;

/** Those of 2^53, below which a `ref` always is. */
const LONGEST_REF_DIGITS = 16;

/** The one place that leaves out drafts: a part of every query of solicitations. */
const isNoDraft = sql<SqlBool>`solicitation.status <> 'draft'`;

/*
 * What cannot be stored: whether bidding is live at this moment. Nothing closes a solicitation
 * on a schedule, so the stored status stays `open` after the deadline.
 */
const isOpen = sql<SqlBool>`solicitation.status = 'open'
  and (solicitation.close_at is null or solicitation.close_at > ${slot('now')})`;

const finished = (document: RawBuilder<string>): RawBuilder<string> =>
  withUpdatedAt(
    sql<string>`${document} || ',"is_open":' || case when ${isOpen} then 'true' else 'false' end`,
    'solicitation',
    'updated_publication',
  );

const closesAt = sql<string | null>`case when solicitation.status = 'open' and solicitation.close_at > ${slot('now')}
  then solicitation.close_at end`;

/** How solicitations stand in a list. */
export const listedSolicitations: ListedRecords = {
  table: sql`catalog.solicitations as solicitation`,
  position: sql`solicitation.number`,
  key: sql<string>`solicitation.id`,
  text: finished(sql<string>`solicitation.document`),
  changesAt: closesAt,
};

/**
 * One page of the solicitations that the scope sees. Walks, in the order of numbers:
 * - for a scope, the index on lead entity and number, once for each lead entity that is granted;
 * - for `updated_since`, the index on publication and number, once for each publication since;
 * - for `q`, what the search index gives, or the walk that there would be without it (`search-plan.ts`);
 * - else the indexes on status, or lead entity and status, or the primary key.
 */
export async function walkSolicitations(
  database: OpenDatabase,
  planner: SearchPlanner,
  scope: Scope,
  filters: SolicitationFilters,
  { after, isFresh }: WalkPlace,
): Promise<Walk> {
  const since = filters.updated_since ?? null;
  const scopeShape = await shapeByPublications(database, shapeOfScope(scope, since), since);
  const isOfOneOwner = filters.lead_entity !== undefined;
  const isNarrow = !scopeShape.everything || isOfOneOwner || scopeShape.since !== 'all';
  const search = filters.q === undefined ? null : await planner.plan(filters.q, { isNarrow, isFresh });
  const shape = {
    ...scopeShape,
    isOfOneOwner,
    filters: Object.keys(filters).sort(),
    search: search?.mode ?? ('none' as const),
    hasAfter: after !== null,
  };
  const { engine } = database;
  return {
    shape: `solicitations ${JSON.stringify(shape)}`,
    build: () => {
      const { conditions, each } = walkScope(engine, SOLICITATION, shape);
      const { hasAfter, search: mode } = shape;
      const all = [isNoDraft, ...filterConditions(shape.filters), ...conditions];
      return walkRecords(engine, SOLICITATION, { hasAfter, search: mode, conditions: all, each });
    },
    values: { ...filters, ...scopeValues(scope, since), ...search?.values, after },
    asOf: search?.asOf ?? null,
  };
}

/** How many solicitations match: counted in the search index where it knows all that is asked, else in the narrowest index. */
export async function countSolicitations(
  database: OpenDatabase,
  planner: SearchPlanner,
  scope: Scope,
  filters: SolicitationFilters,
  isFresh: boolean,
): Promise<CountQuery> {
  const since = filters.updated_since ?? null;
  const { engine } = database;
  const search = filters.q === undefined ? null : await planner.planCount(filters.q, filters.status ?? null, isFresh);
  const shape = {
    ...(await shapeByPublications(database, shapeOfScope(scope, since), since)),
    filters: Object.keys(filters).sort(),
    search: search?.mode ?? ('none' as const),
  };
  return {
    shape: `count ${JSON.stringify(shape)}`,
    build: () => {
      const conditions = [
        ...filterConditions(shape.filters.filter((name) => shape.search !== 'index' || name !== 'status')),
        isVisible(engine, shape, SOLICITATION),
        isNewSince(engine, shape, SOLICITATION),
      ].filter((condition) => condition !== null);
      // Entries of the search index are marked with their status, and drafts have none.
      if (shape.search === 'index' && conditions.length === 0) return countMatches(engine, SOLICITATION.table);
      return countRecords(engine, SOLICITATION, shape.search, [isNoDraft, ...conditions]);
    },
    values: { ...filters, ...scopeValues(scope, since), ...search?.values },
    asOf: search?.asOf ?? null,
  };
}

/**
 * The solicitation of this id or `ref`, if the scope sees it; null for a text that is neither. An
 * id has at least one character that is no digit, so the two cannot be confused. One look into
 * the index on either.
 */
export function findSolicitation({ engine }: OpenDatabase, scope: Scope, idOrRef: string): RecordQuery | null {
  const isRef = /^[0-9]+$/.test(idOrRef);
  // One spelling of a number is its ref: no leading zeros, and none that is too long to be one.
  if (isRef && (idOrRef.startsWith('0') || idOrRef.length > LONGEST_REF_DIGITS)) return null;
  const shape = { ...shapeOfScope(scope, null), isRef };
  return {
    shape: `solicitation ${JSON.stringify(shape)}`,
    build: () => {
      const isIt = shape.isRef
        ? sql<SqlBool>`solicitation.ref = ${slot('id')}`
        : sql<SqlBool>`solicitation.id = ${slot('id')}`;
      return sql`select ${finished(sql<string>`solicitation.document || solicitation.detail`)} as text, ${closesAt} as changes_at
        from catalog.solicitations as solicitation
        where ${allOf([isIt, isNoDraft, isVisible(engine, shape, SOLICITATION)])}`;
    },
    values: { ...scopeValues(scope, null), id: isRef ? Number(idOrRef) : idOrRef },
  };
}

/** What the filters ask of a record, but for `q` and `updated_since`. */
function filterConditions(filters: readonly string[]): Condition[] {
  const conditions: Readonly<Record<string, Condition>> = {
    status: sql<SqlBool>`solicitation.status = ${slot('status')}`,
    lead_entity: sql<SqlBool>`solicitation.lead_entity_id = ${slot('lead_entity')}`,
    // A solicitation without a close date is null here, and so left out by both.
    closing_after: sql<SqlBool>`solicitation.close_at >= ${slot('closing_after')}`,
    closing_before: sql<SqlBool>`solicitation.close_at <= ${slot('closing_before')}`,
  };
  return filters.flatMap((name) => conditions[name] ?? []);
}
