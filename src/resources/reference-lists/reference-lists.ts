import type { FastifyInstance } from 'fastify';
import { compareBytewise } from '../../bytewise.ts';
import { pageOf } from '../../http/openapi/openapi-responses.ts';
import { freeText, type Filter } from '../../http/request/parameters.ts';
import { wordMatcher } from '../../index/words.ts';
import { TABLE_OF } from '../../kinds.ts';
import { keyedListing, storedWhole } from '../../paging/pages.ts';
import { csvColumns } from '../../paging/csv.ts';
import { listRoute } from '../../paging/send.ts';
import type { RouteServices } from '../../services.ts';
import { CITY_SERVICE_EXAMPLE, COOP_EXAMPLE, LEAD_ENTITY_EXAMPLE, namedRef } from './fields.ts';
import { NameList, namedRefs } from './name-list.ts';

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
            const rows = await snapshot.run(namedRefs(snapshot, kind, after ?? '', limit + 1));
            const keys = rows.map(({ id }) => id).sort(compareBytewise);
            return { keys: keys.slice(0, limit), hasMore: keys.length > limit };
          }),
      }),
    );
  }
}
