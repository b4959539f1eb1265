import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Database } from '../../database/database.ts';
import { parameter } from '../../database/statement.ts';
import type { Condition } from '../../index/evaluate.ts';
import type { RecordQuery } from '../../paging/send-record.ts';
import { BY_POSITION, type ListedRecords } from '../../paging/page-statement.ts';
import type { Since } from '../../paging/updated-since.ts';
import { closes, listConditions, type ListFilters } from '../conditions.ts';
import { withUpdatedAt } from '../finished-text.ts';
import { isGranted, scopeKey, scopeValues } from '../granted.ts';

export interface SolicitationFilters extends ListFilters {
  readonly closing_after?: string;
  readonly closing_before?: string;
}

/** Up to 16 digits, like 2^53, which is above every `ref`. */
const REF = /^[1-9][0-9]{0,15}$/;

/**
 * Whether bidding is open right now, the one field that cannot be stored: no job closes a solicitation on time, so the
 * stored status remains `open` after the deadline.
 */
const isOpen = sql<SqlBool>`solicitation.status = 'open'
  and (solicitation.close_at is null or solicitation.close_at > ${parameter('now')})`;

const finished = (document: RawBuilder<string>): RawBuilder<string> =>
  withUpdatedAt(document, 'solicitation', 'updated_publication', isOpen);

const closesAt = sql<
  string | null
>`case when solicitation.status = 'open' and solicitation.close_at > ${parameter('now')}
  then solicitation.close_at end`;

/** Solicitations as listed. */
export const listedSolicitations: ListedRecords = {
  table: 'solicitations',
  alias: 'solicitation',
  found: BY_POSITION,
  key: 'id',
  text: finished(sql<string>`solicitation.document`),
  bytes: sql<number>`octet_length(solicitation.document)`,
  changesAt: closesAt,
};

/**
 * Matches the solicitations that a list or count includes. Drafts have no terms in the index, so nothing matches them.
 */
export function solicitationConditions(scope: Scope, filters: SolicitationFilters, since: Since | null): Condition[] {
  const { closing_after, closing_before } = filters;
  return [
    ...listConditions('solicitations', scope, filters, since),
    ...(closing_after === undefined ? [] : [closes('at least', closing_after)]),
    ...(closing_before === undefined ? [] : [closes('at most', closing_before)]),
  ];
}

/**
 * Finds a solicitation by ID or `ref` within the scope. An ID always has a character that is not a digit, so the two
 * cannot be confused; a `ref` has a single spelling, without leading zeros. One lookup in the index on either.
 */
export function findSolicitation({ engine }: Pick<Database, 'engine'>, scope: Scope, idOrRef: string): RecordQuery {
  const isRef = REF.test(idOrRef);
  const key = scopeKey(scope);
  return {
    statementKey: `solicitation by ${isRef ? 'ref' : 'id'}, ${key}`,
    build: () => sql`
      select ${finished(sql<string>`solicitation.document || solicitation.detail`)} as text, ${closesAt} as changes_at
      from catalog.solicitations as solicitation
      where ${sql.ref(isRef ? 'solicitation.ref' : 'solicitation.id')} = ${parameter('id')}
        and solicitation.status <> 'draft'
        and ${isGranted(engine, key, { leadEntity: 'solicitation.lead_entity_id' })}`,
    values: { ...scopeValues(scope), id: isRef ? Number(idOrRef) : idOrRef },
  };
}
