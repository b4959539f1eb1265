import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { OpenDatabase } from '../../database/database.ts';
import { slot } from '../../database/statement.ts';
import type { CountQuery, RecordQuery } from '../../paging/answer-record.ts';
import type { WalkPlace } from '../../paging/answer-list.ts';
import type { ListedRecords } from '../../paging/page-statement.ts';
import type { Walk } from '../../paging/snapshot.ts';
import { leadEntityMark, statusMark } from '../../search/marks.ts';
import type { SearchPlanner } from '../../search/search-plan.ts';
import { allOf } from '../conditions.ts';
import { withUpdatedAt } from '../finished-text.ts';
import { countOwned, ownedConditions, walkOwned, type KnownFilters, type OwnedRecords } from '../owned-records.ts';
import { shapeByPublications } from '../publications-since.ts';
import { isVisible, scopeValues, shapeOfScope } from '../scope-sql.ts';
import { addTotals, totalsValues } from './totals.ts';

export interface SolicitationFilters {
  q?: string;
  status?: string;
  lead_entity?: string;
  closing_after?: string;
  closing_before?: string;
  updated_since?: string;
}

/** Those of 2^53, below which a `ref` always is. */
const LONGEST_REF_DIGITS = 16;

/** The one place that leaves out drafts: a part of every query of solicitations. */
const isNoDraft = sql<SqlBool>`solicitation.status <> 'draft'`;

const SOLICITATIONS: OwnedRecords = {
  table: 'solicitations',
  alias: 'solicitation',
  hasCoop: false,
  served: [isNoDraft],
  indexed: [['lead_entity'], ['status'], ['lead_entity', 'status']],
  filters: {
    status: sql<SqlBool>`solicitation.status = ${slot('status')}`,
    lead_entity: sql<SqlBool>`solicitation.lead_entity_id = ${slot('lead_entity')}`,
    // A solicitation without a close date is null here, and so left out by both. "is true" keeps PostgreSQL from
    // skipping through an index that is walked by number, a jump for each record.
    closing_after: sql<SqlBool>`(solicitation.close_at >= ${slot('closing_after')}) is true`,
    closing_before: sql<SqlBool>`(solicitation.close_at <= ${slot('closing_before')}) is true`,
  },
};

/*
 * What cannot be stored: whether bidding is live at this moment. Nothing closes a solicitation
 * on a schedule, so the stored status stays `open` after the deadline.
 */
const isOpen = sql<SqlBool>`solicitation.status = 'open'
  and (solicitation.close_at is null or solicitation.close_at > ${slot('now')})`;

const finished = (document: RawBuilder<string>): RawBuilder<string> =>
  withUpdatedAt(document, 'solicitation', 'updated_publication', isOpen);

const closesAt = sql<string | null>`case when solicitation.status = 'open' and solicitation.close_at > ${slot('now')}
  then solicitation.close_at end`;

/** How solicitations stand in a list. */
export const listedSolicitations: ListedRecords = {
  table: 'solicitations',
  alias: 'solicitation',
  position: sql`solicitation.number`,
  key: sql<string>`solicitation.id`,
  text: finished(sql<string>`solicitation.document`),
  bytes: sql<number>`octet_length(solicitation.document)`,
  changesAt: closesAt,
};

/** One page of the solicitations that the scope sees; `owned-records.ts` says what it walks. */
export function walkSolicitations(
  database: OpenDatabase,
  planner: SearchPlanner,
  scope: Scope,
  filters: SolicitationFilters,
  place: WalkPlace,
): Promise<Walk> {
  return walkOwned(database, planner, SOLICITATIONS, {
    scope,
    filters: { ...filters },
    known: inIndex(filters),
    place,
  });
}

/** How many solicitations match: from totals, where neither words nor some of the changes are asked for. */
export async function countSolicitations(
  database: OpenDatabase,
  planner: SearchPlanner,
  scope: Scope,
  filters: SolicitationFilters,
  place: WalkPlace,
): Promise<CountQuery> {
  const { q, updated_since = null, closing_after, closing_before } = filters;
  const scopeShape = await shapeByPublications(database, shapeOfScope(scope, updated_since), updated_since);
  if (q !== undefined || scopeShape.since !== 'all') {
    return countOwned(database, planner, SOLICITATIONS, {
      scope,
      filters: { ...filters },
      known: inIndex(filters),
      place,
    });
  }
  const shape = { ...scopeShape, filters: Object.keys(filters).sort() };
  return {
    shape: `total ${JSON.stringify(shape)}`,
    build: () => {
      const asked = ownedConditions(database.engine, { ...SOLICITATIONS, served: [] }, shape);
      return addTotals(database.engine, shape, isNoDraft, asked);
    },
    values: { ...filters, ...scopeValues(scope, null), ...totalsValues(closing_after, closing_before) },
    asOf: [],
    upto: null,
  };
}

function inIndex({ status, lead_entity, closing_after, closing_before }: SolicitationFilters): KnownFilters {
  const marks = [];
  if (status !== undefined) marks.push([statusMark(status)]);
  if (lead_entity !== undefined) marks.push([leadEntityMark(lead_entity)]);
  const hasWindow = closing_after !== undefined || closing_before !== undefined;
  return { marks, window: hasWindow ? { after: closing_after ?? null, before: closing_before ?? null } : null };
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
        where ${allOf([isIt, isNoDraft, isVisible(engine, shape, SOLICITATIONS)])}`;
    },
    values: { ...scopeValues(scope, null), id: isRef ? Number(idOrRef) : idOrRef },
  };
}
