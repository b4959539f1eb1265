import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Database } from '../../database/database.ts';
import { slot } from '../../database/statement.ts';
import type { Condition } from '../../index/evaluate.ts';
import type { RecordQuery } from '../../paging/answer-record.ts';
import { BY_POSITION, type ListedRecords } from '../../paging/page-statement.ts';
import type { Since } from '../../paging/updated-since.ts';
import { closes, listConditions, type ListFilters } from '../conditions.ts';
import { withUpdatedAt } from '../finished-text.ts';
import { isGranted, scopeKey, scopeValues } from '../granted.ts';

export interface SolicitationFilters extends ListFilters {
  readonly closing_after?: string;
  readonly closing_before?: string;
}

/** As many digits as 2^53 has, below which a `ref` always is. */
const REF = /^[1-9][0-9]{0,15}$/;

/**
 * Whether bidding is live at this moment: the one field that cannot be stored. Nothing closes a solicitation
 * on a schedule, so the stored status stays `open` after the deadline.
 */
const isOpen = sql<SqlBool>`solicitation.status = 'open'
  and (solicitation.close_at is null or solicitation.close_at > ${slot('now')})`;

const finished = (document: RawBuilder<string>): RawBuilder<string> =>
  withUpdatedAt(document, 'solicitation', 'updated_publication', isOpen);

const closesAt = sql<string | null>`case when solicitation.status = 'open' and solicitation.close_at > ${slot('now')}
  then solicitation.close_at end`;

/** Solicitations as a list shows them. */
export const listedSolicitations: ListedRecords = {
  table: 'solicitations',
  alias: 'solicitation',
  found: BY_POSITION,
  key: 'id',
  text: finished(sql<string>`solicitation.document`),
  bytes: sql<number>`octet_length(solicitation.document)`,
  changesAt: closesAt,
};

/** The solicitations that a list or a count shows. Drafts have no terms in the index, so no condition is met by one. */
export function solicitationConditions(scope: Scope, filters: SolicitationFilters, since: Since | null): Condition[] {
  const { closing_after, closing_before } = filters;
  return [
    ...listConditions('solicitations', scope, filters, since),
    ...(closing_after === undefined ? [] : [closes('at least', closing_after)]),
    ...(closing_before === undefined ? [] : [closes('at most', closing_before)]),
  ];
}

/**
 * The solicitation of this id or `ref`, if the scope sees it. An id has at least one character that is no digit, so the two
 * cannot be confused; a `ref` has one spelling, without leading zeros. One look-up by the index on either.
 */
export function findSolicitation({ engine }: Pick<Database, 'engine'>, scope: Scope, idOrRef: string): RecordQuery {
  const isRef = REF.test(idOrRef);
  const key = scopeKey(scope);
  return {
    shape: `solicitation by ${isRef ? 'ref' : 'id'}, ${key}`,
    build: () => sql`
      select ${finished(sql<string>`solicitation.document || solicitation.detail`)} as text, ${closesAt} as changes_at
      from catalog.solicitations as solicitation
      where ${sql.ref(isRef ? 'solicitation.ref' : 'solicitation.id')} = ${slot('id')}
        and solicitation.status <> 'draft'
        and ${isGranted(engine, key, { leadEntity: 'solicitation.lead_entity_id' })}`,
    values: { ...scopeValues(scope), id: isRef ? Number(idOrRef) : idOrRef },
  };
}
