import type { FastifyInstance } from 'fastify';
import { detailResponses, listResponses } from '../../http/openapi-responses.ts';
import {
  cursorParameter,
  freeText,
  idParameter,
  timestampParameter,
  limitParameter,
  querystringSchema,
} from '../../http/parameters.ts';
import { RecordIndex } from '../../index/record-index.ts';
import type { SetCache } from '../../index/set-cache.ts';
import { sendList } from '../../paging/send-list.ts';
import { sendRecord } from '../../paging/send-record.ts';
import { indexedListing } from '../../paging/pages.ts';
import type { Services } from '../../services.ts';
import { idPathSchema } from '../schemas.ts';
import { listConditions, type ListFilters } from '../conditions.ts';
import { findContract, listedContracts } from './query.ts';
import { contract, contractPage } from './schema.ts';

const parameters = {
  q: freeText,
  lead_entity: idParameter('/v1/lead-entities', 'Only contracts of this lead entity'),
  coop: idParameter('/v1/coops', 'Only contracts of this cooperative'),
  supplier: idParameter('/v1/suppliers', 'Only contracts with this supplier'),
  city_service: idParameter('/v1/city-services', 'Only contracts for this city service'),
  updated_since: timestampParameter(
    'Only contracts that changed or became visible to you at this instant or later: the `X-Sync-Watermark` of your ' +
      'last walk. Any other timestamp, such as your own clock or the greatest `updated_at`, is read as 5 seconds earlier.',
  ),
  cursor: cursorParameter,
  limit: limitParameter,
};

/** GET /v1/contracts and /v1/contracts/{id}. */
export function registerContracts(app: FastifyInstance, services: Services, sets: SetCache): void {
  const { database } = services;
  const index = new RecordIndex(database, 'contracts', sets);
  for (const schema of [contract, contractPage]) app.addSchema(schema);

  app.get('/v1/contracts', {
    schema: {
      operationId: 'listContracts',
      tags: ['Contracts'],
      summary: 'List contracts',
      description: 'Searches cooperative purchasing contracts by keyword, lead entity, coop, supplier or city service.',
      querystring: querystringSchema(parameters),
      response: listResponses(contractPage),
    },
    config: { kind: 'contracts', parameters },
    handler: (request, reply) =>
      sendList(services, request, reply, (filters: ListFilters, since) =>
        indexedListing(index, listedContracts, (scope) => listConditions('contracts', scope, filters, since)),
      ),
  });

  app.get<{ Params: { id: string } }>('/v1/contracts/:id', {
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
      sendRecord(services, request, reply, findContract(database, request.partner.scope, request.params.id)),
  });
}
