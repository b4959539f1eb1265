import type { FastifyInstance } from 'fastify';
import { sql, type RawBuilder } from 'kysely';
import { isListed, scopeKey, scopeValues, type ScopeKey } from '../../access/visibility/scope-sql.ts';
import type { Engine } from '../../database/database.ts';
import { catalogState } from '../../database/revision.ts';
import { firstRow, limitParameter as rowLimit, parameter } from '../../database/statement.ts';
import { pageOf } from '../../http/openapi/openapi-responses.ts';
import { TABLE_OF, type NamedRefKind } from '../../kinds.ts';
import { storedWhole } from '../../paging/pages.ts';
import { csvColumns } from '../../paging/csv.ts';
import { keyedListing, listRoute } from '../../paging/send.ts';
import type { Services } from '../../services.ts';
import { CITY_SERVICE_EXAMPLE, COOP_EXAMPLE, LEAD_ENTITY_EXAMPLE, namedRef } from './fields.ts';

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
export function registerReferenceLists(v1: FastifyInstance, services: Services): void {
  const { database } = services;
  for (const schema of [namedRef, namedRefPage]) v1.addSchema(schema);
  for (const { kind, example, ...documentation } of LISTS) {
    const table = TABLE_OF[kind];
    const records = storedWhole(table, 'id');
    v1.get(
      `/${kind}`,
      listRoute(services, {
        kind,
        schema: { ...documentation, tags: ['Reference lists'] },
        page: namedRefPage,
        columns: csvColumns(namedRef.properties),
        examples: [example],
        filters: {},
        listingOf: () =>
          keyedListing(records, async (scope, after, limit) => {
            const key = scopeKey(kind, scope);
            const values = { ...scopeValues(scope), after: after ?? '', rows: limit + 1 };
            const build = () => namedRefIds(database.engine, kind, key);
            const rows = await database.run(`ids of ${table}, ${key}`, build, values);
            const ids = rows.flatMap(({ id }) => id ?? []);
            return { catalog: firstRow(rows).catalog, positions: ids.slice(0, limit), hasMore: ids.length > limit };
          }),
      }),
    );
  }
}

interface NamedRefId {
  readonly catalog: string;
  readonly id: string | null;
}

/**
 * The IDs after the parameter `after` of lead entities or coops that are granted or named by a visible contract, or of
 * all city services; a single row without an ID if there are none. Served by the primary key.
 */
export function namedRefIds(engine: Engine, kind: NamedRefKind, key: ScopeKey): RawBuilder<NamedRefId> {
  return sql<NamedRefId>`
    select state.catalog, listed.id
    from (select ${catalogState} as catalog) as state
    left join (
      select named.id from ${sql.table(`catalog.${TABLE_OF[kind]}`)} as named
      where named.id > ${parameter('after')} and ${isListed(engine, kind, key)}
      order by named.id limit ${rowLimit('rows')}
    ) as listed on 1 = 1
    order by listed.id`;
}
