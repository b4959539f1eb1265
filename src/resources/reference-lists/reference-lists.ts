import type { FastifyInstance } from 'fastify';
import { compareBytewise } from '../../bytewise.ts';
import { freeText, type Filter } from '../../http/request/parameters.ts';
import { wordMatcher } from '../../index/words.ts';
import { TABLE_OF } from '../../kinds.ts';
import { keyedListing, storedWhole } from '../../paging/pages.ts';
import { registerList } from '../../paging/send.ts';
import type { RouteServices } from '../../services.ts';
import { CITY_SERVICE_EXAMPLE, COOP_EXAMPLE, LEAD_ENTITY_EXAMPLE, namedRef } from './fields.ts';
import { NameList, namedRefs } from './name-list.ts';

const words: Filter<string, null, ReturnType<typeof wordMatcher>> = {
  ...freeText,
  schema: { ...freeText.schema, description: 'Words of the name, as in other lists. Since 1.3.0.' },
  conditions: (q) => [wordMatcher(q)],
};

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
  v1.addSchema(namedRef);
  for (const { kind, example, ...documentation } of LISTS) {
    const records = storedWhole(TABLE_OF[kind], 'id');
    const names = new NameList(kind);
    registerList(v1, services, {
      kind,
      schema: { ...documentation, tags: ['Reference lists'] },
      record: namedRef,
      plural: 'lead entities, cooperatives or city services',
      examples: [example],
      filters: { q: words },
      listingOf: (conditionsIn) =>
        keyedListing(records, async (snapshot, after, count) => {
          const [matches] = await conditionsIn(null);
          if (matches !== undefined) return names.find(snapshot, matches, after, count);
          const rows = await snapshot.run(namedRefs(snapshot, kind, after, count));
          return rows.map(({ id }) => id).sort(compareBytewise);
        }),
    });
  }
}
