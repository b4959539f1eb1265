import type { FastifyInstance } from 'fastify';
import { detailResponses, listResponses, objectResponses } from '../../http/openapi-responses.ts';
import {
  cursorParameter,
  freeText,
  idParameter,
  timestampParameter,
  limitParameter,
  oneOfParameter,
  querystringSchema,
} from '../../http/parameters.ts';
import { RecordIndex } from '../../index/record-index.ts';
import type { SetCache } from '../../index/set-cache.ts';
import { sendList } from '../../paging/send-list.ts';
import { sendCount, sendRecord } from '../../paging/send-record.ts';
import { indexedListing } from '../../paging/pages.ts';
import { readSince } from '../../paging/updated-since.ts';
import type { Services } from '../../services.ts';
import { idPathSchema } from '../schemas.ts';
import { findSolicitation, listedSolicitations, solicitationConditions, type SolicitationFilters } from './query.ts';
import { count, solicitationDetail, solicitationPage, solicitationSchemas, solicitationStatus } from './schema.ts';

const filterParameters = {
  q: freeText,
  status: oneOfParameter(
    solicitationStatus,
    'Only solicitations of this stored status; one whose deadline has passed is still `open`.',
  ),
  lead_entity: idParameter('/v1/lead-entities', 'Only solicitations of this issuer'),
  closing_after: timestampParameter(
    'Only solicitations that close at this instant or later; none without a close date.',
  ),
  closing_before: timestampParameter(
    'Only solicitations that close at this instant or earlier; none without a close date.',
  ),
  updated_since: timestampParameter(
    'Only solicitations that changed or became visible to you at this instant or later: the `X-Sync-Watermark` of your ' +
      'last walk. Any other timestamp, such as your own clock or the greatest `updated_at`, is read as 5 seconds earlier. ' +
      'New notices, documents and questions do not count: re-read the detail for them.',
  ),
};
const listParameters = { ...filterParameters, cursor: cursorParameter, limit: limitParameter };

/** GET /v1/solicitations, /v1/solicitations/count and /v1/solicitations/{id}. */
export function registerSolicitations(app: FastifyInstance, services: Services, sets: SetCache): void {
  for (const schema of solicitationSchemas) app.addSchema(schema);
  const { database } = services;
  const index = new RecordIndex(database, 'solicitations', sets);

  app.get('/v1/solicitations', {
    schema: {
      operationId: 'listSolicitations',
      tags: ['Solicitations'],
      summary: 'List solicitations',
      description:
        'Open and historic solicitations of the lead entities in your scope, ordered by id; drafts never. Narrow to a ' +
        'window of deadlines with `closing_after` and `closing_before`.',
      querystring: querystringSchema(listParameters),
      response: listResponses(solicitationPage),
    },
    config: { kind: 'solicitations', parameters: listParameters },
    handler: (request, reply) =>
      sendList(services, request, reply, (filters: SolicitationFilters, since) =>
        indexedListing(index, listedSolicitations, (scope) => solicitationConditions(scope, filters, since)),
      ),
  });

  app.get('/v1/solicitations/count', {
    schema: {
      operationId: 'countSolicitations',
      tags: ['Solicitations'],
      summary: 'Count solicitations',
      description: 'How many solicitations the list would give for the same filters.',
      querystring: querystringSchema(filterParameters),
      response: objectResponses(count),
    },
    config: { kind: 'solicitations', parameters: filterParameters },
    handler: async (request, reply) => {
      const { partner } = request;
      const filters: SolicitationFilters = request.parameters;
      const since = await readSince(database, partner.id, filters.updated_since, null);
      const conditions = solicitationConditions(partner.scope, filters, since);
      return sendCount(services, request, reply, { index, conditions });
    },
  });

  app.get<{ Params: { id: string } }>('/v1/solicitations/:id', {
    schema: {
      operationId: 'getSolicitation',
      tags: ['Solicitations'],
      summary: 'Get a solicitation',
      description: 'One solicitation with its documents, requested items, notices and questions.',
      params: idPathSchema('The `id` of the solicitation, or its numeric `ref`.'),
      response: detailResponses(solicitationDetail),
    },
    config: { kind: 'solicitations', parameters: {} },
    handler: (request, reply) =>
      sendRecord(services, request, reply, findSolicitation(database, request.partner.scope, request.params.id)),
  });
}
