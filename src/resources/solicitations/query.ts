import { sql, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Database } from '../../database/database.ts';
import type { PageWindow } from '../../paging/answer-list.ts';
import { holdsWords } from '../../search/search-index.ts';
import { queryWords } from '../../search/words.ts';
import { allOf, given, type Condition } from '../conditions.ts';
import { isNewSince, isVisible } from '../scope-sql.ts';

export interface SolicitationFilters {
  q?: string;
  status?: string;
  lead_entity?: string;
  closing_after?: string;
  closing_before?: string;
  updated_since?: string;
}

const SOLICITATION = { alias: 'solicitation', hasCoop: false };

/** Those of 2^53, below which a `ref` always is. */
const LONGEST_REF_DIGITS = 16;

/**
 * One page of the solicitations that the scope sees. Walks the unique index on id; with a
 * filter on lead entity, the index on it, which is ordered by id too.
 */
export function selectSolicitations(
  database: Database,
  scope: Scope,
  filters: SolicitationFilters,
  window: PageWindow,
) {
  return visibleSolicitations(database, scope)
    .select(['solicitation.id as key', 'solicitation.document', 'solicitation.status', 'solicitation.close_at'])
    .select(updatedAt)
    .where(allOf([given(window.after, (after) => sql<SqlBool>`solicitation.id > ${after}`)]))
    .where(matches(database, scope, filters))
    .orderBy('solicitation.id')
    .limit(window.rows);
}

/** How many solicitations match. Looks at every one that the narrowest index leaves. */
export async function countSolicitations(
  database: Database,
  scope: Scope,
  filters: SolicitationFilters,
): Promise<number> {
  const { total } = await visibleSolicitations(database, scope)
    .select((eb) => eb.fn.countAll().as('total'))
    .where(matches(database, scope, filters))
    .executeTakeFirstOrThrow();
  return Number(total);
}

/**
 * The solicitation of this id or `ref`, if the scope sees it. An id has at least one character
 * that is no digit, so the two cannot be confused. One look into the index on either.
 */
export async function findSolicitation(database: Database, scope: Scope, idOrRef: string) {
  const isRef = /^[0-9]+$/.test(idOrRef);
  // One spelling of a number is its ref: no leading zeros, and none that is too long to be one.
  if (isRef && (idOrRef.startsWith('0') || idOrRef.length > LONGEST_REF_DIGITS)) return null;
  const found = await visibleSolicitations(database, scope)
    .select(['solicitation.document', 'solicitation.detail', 'solicitation.status', 'solicitation.close_at'])
    .select(updatedAt)
    .where(isRef ? sql<SqlBool>`solicitation.ref = ${Number(idOrRef)}` : sql<SqlBool>`solicitation.id = ${idOrRef}`)
    .executeTakeFirst();
  return found ?? null;
}

const updatedAt = sql<string>`coalesce(solicitation.updated_at,
  (select instant from catalog.publications where number = solicitation.updated_publication))`.as('updated_at');

/** The one place that leaves out drafts: every query of solicitations begins here. */
function visibleSolicitations({ engine, kysely }: Database, scope: Scope) {
  return kysely
    .selectFrom('catalog.solicitations as solicitation')
    .where('solicitation.status', '!=', 'draft')
    .where(allOf([isVisible(engine, scope, SOLICITATION)]));
}

function matches({ engine }: Database, scope: Scope, filters: SolicitationFilters): Condition {
  return allOf([
    given(filters.q, (q) => holdsWords(engine, 'solicitations', sql.ref('solicitation.number'), queryWords(q))),
    given(filters.status, (status) => sql<SqlBool>`solicitation.status = ${status}`),
    given(filters.lead_entity, (id) => sql<SqlBool>`solicitation.lead_entity_id = ${id}`),
    // A solicitation without a close date is null here, and so left out by both.
    given(filters.closing_after, (instant) => sql<SqlBool>`solicitation.close_at >= ${instant}`),
    given(filters.closing_before, (instant) => sql<SqlBool>`solicitation.close_at <= ${instant}`),
    given(filters.updated_since, (since) => isNewSince(engine, scope, SOLICITATION, since)),
  ]);
}
