import type { FastifyInstance } from 'fastify';
import { sql } from 'kysely';
import { detailResponses, pageOf } from '../../http/openapi/openapi-responses.ts';
import { idPathSchema } from '../../http/openapi/openapi-schemas.ts';
import { idsParameter } from '../../http/request/parameters.ts';
import type { RecordIndex } from '../../index/record-index.ts';
import { indexed, indexedListing, updatedSince, withAny, words } from '../../paging/pages.ts';
import { csvColumns } from '../../paging/csv.ts';
import { countRoute, listRoute, sendRecord } from '../../paging/send.ts';
import type { RouteServices } from '../../services.ts';
import { findRecord } from '../find-record.ts';
import { withUpdatedAt } from '../served-json.ts';
import { contract } from './fields.ts';

const contractPage = pageOf(contract, 'A page of contracts.');

export const contractFilters = {
  q: words,
  lead_entity: withAny('lead_entity', idsParameter('/v1/lead-entities', 'Only contracts of this lead entity')),
  coop: withAny('coop', idsParameter('/v1/coops', 'Only contracts of this cooperative')),
  supplier: withAny('supplier', idsParameter('/v1/suppliers', 'Only contracts with this supplier')),
  city_service: withAny('city_service', idsParameter('/v1/city-services', 'Only contracts for this city service')),
  updated_since: updatedSince('contracts'),
};

/** GET /v1/contracts, /v1/contracts/count and /v1/contracts/{id}. */
export function registerContracts(v1: FastifyInstance, services: RouteServices, index: RecordIndex): void {
  for (const schema of [contract, contractPage]) v1.addSchema(schema);

  v1.get(
    '/contracts',
    listRoute(services, {
      kind: 'contracts',
      schema: {
        operationId: 'listContracts',
        tags: ['Contracts'],
        summary: 'List contracts',
        description:
          'Searches cooperative purchasing contracts by keyword, lead entity, coop, supplier or city service.',
      },
      page: contractPage,
      columns: csvColumns(contract.properties),
      filters: contractFilters,
      listingOf: (conditionsIn) => indexedListing(index, listedContracts, conditionsIn),
    }),
  );

  v1.get('/contracts/count', countRoute(services, index, 'contracts', contractFilters, ' Since 1.3.0.'));

  v1.get<{ Params: { id: string } }>('/contracts/:id', {
    schema: {
      operationId: 'getContract',
      tags: ['Contracts'],
      summary: 'Get a contract',
      description: 'One contract, with all of its suppliers and city services.',
      params: idPathSchema('The `id` of the contract.'),
      response: detailResponses(contract),
    },
    config: { kind: 'contracts', parameters: {} },
    handler: (request, reply) =>
      sendRecord(services, request, reply, (snapshot) =>
        findRecord(snapshot, 'contracts', listedContracts, request.params.id),
      ),
  });
}

export const listedContracts = indexed('contracts', {
  text: withUpdatedAt(sql<string>`record.document`, 'changed_release'),
  bytes: sql<number>`octet_length(record.document)`,
});
