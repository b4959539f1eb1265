import type { FastifyInstance } from 'fastify';
import { sql } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import { isListed, scopeKey, scopeValues } from '../../access/visibility/scope-sql.ts';
import { compareBytewise } from '../../bytewise.ts';
import type { Engine, Query } from '../../database/database.ts';
import { limitParameter as rowLimit, parameter } from '../../database/statement.ts';
import { pageOf } from '../../http/openapi/openapi-responses.ts';
import { freeText, type Filter } from '../../http/request/parameters.ts';
import { wordMatcher } from '../../index/words.ts';
import { TABLE_OF, type NamedRefKind } from '../../kinds.ts';
import { keyedListing, storedWhole } from '../../paging/pages.ts';
import { csvColumns } from '../../paging/csv.ts';
import { listRoute } from '../../paging/send.ts';
import type { RouteServices } from '../../services.ts';
import { CITY_SERVICE_EXAMPLE, COOP_EXAMPLE, LEAD_ENTITY_EXAMPLE, namedRef } from './fields.ts';
import { NameList } from './name-list.ts';

const words: Filter<string, null, ReturnType<typeof wordMatcher>> = {
  ...freeText,
  schema: { ...freeText.schema, description: 'Words of the name, as in other lists. Since 1.3.0.' },
  conditions: (q) => [wordMatcher(q)],
};

const namedRefPage = pageOf(namedRef, 'A page of lead entities, cooperatives or city services.');

const LISTS = [
  {
    kind: 'lead-entities',
    example: LEAD_ENTITY_EXAMPLE,
    operationId: 'listLeadEntities',
    summary: 'List lead entities',
    description: 'The lead entities in your scope, and those of contracts that you can see.',
  },
  {
    kind: 'city-services',
    example: CITY_SERVICE_EXAMPLE,
    operationId: 'listCityServices',
    summary: 'List city services',
    description: 'All city services.',
  },
  {
    kind: 'coops',
    example: COOP_EXAMPLE,
    operationId: 'listCoops',
    summary: 'List cooperatives',
    description: 'The cooperatives in your scope, and those of contracts that you can see.',
  },
] as const;

/** GET /v1/lead-entities, /v1/city-services and /v1/coops. */
export function registerReferenceLists(v1: FastifyInstance, services: RouteServices): void {
  for (const schema of [namedRef, namedRefPage]) v1.addSchema(schema);
  for (const { kind, example, ...documentation } of LISTS) {
    const table = TABLE_OF[kind];
    const records = storedWhole(table, 'id');
    const names = new NameList(kind);
    v1.get(
      `/${kind}`,
      listRoute(services, {
        kind,
        schema: { ...documentation, tags: ['Reference lists'] },
        page: namedRefPage,
        columns: csvColumns(namedRef.properties),
        examples: [example],
        filters: { q: words },
        listingOf: (conditionsIn) =>
          keyedListing(records, async (snapshot, after, limit) => {
            const [matches] = await conditionsIn(null);
            if (matches !== undefined) return names.find(snapshot, matches, after ?? '', limit);
            const rows = await snapshot.run(namedRefIds(snapshot, kind, after ?? '', limit + 1));
            const keys = rows.map(({ id }) => id).sort(compareBytewise);
            return { keys: keys.slice(0, limit), hasMore: keys.length > limit };
          }),
      }),
    );
  }
}

/**
 * The first IDs after another of lead entities or coops that are granted or named by a visible contract, or of all city
 * services. Served by the primary key.
 */
export function namedRefIds(
  { engine, scope }: { readonly engine: Engine; readonly scope: Scope },
  kind: NamedRefKind,
  after: string,
  rows: number,
): Query<{ id: string }> {
  const key = scopeKey(kind, scope);
  const table = TABLE_OF[kind];
  return {
    statementKey: `ids of ${table}, ${key}`,
    columns: ['id'],
    build: () => sql`select named.id from ${sql.table(`catalog.${table}`)} as named
      where named.id > ${parameter('after')} and ${isListed(engine, kind, key)}
      order by named.id limit ${rowLimit('rows')}`,
    values: { ...scopeValues(scope), after, rows },
  };
}
