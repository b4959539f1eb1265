import type { FastifyInstance } from 'fastify';
import { listResponses } from '../../http/openapi-responses.ts';
import { cursorParameter, limitParameter, querystringSchema } from '../../http/parameters.ts';
import { sendList } from '../../paging/send-list.ts';
import type { Services } from '../../services.ts';
import { namedRef, namedRefPage } from '../schemas.ts';
import { storedWhole } from '../../paging/page-statement.ts';
import { findNamedRefs } from './query.ts';

const parameters = { cursor: cursorParameter, limit: limitParameter };

const LISTS = [
  {
    kind: 'lead-entities',
    operationId: 'listLeadEntities',
    summary: 'List lead entities',
    description: 'The lead entities of your scope, and those on contracts that you see.',
    table: 'lead_entities',
  },
  {
    kind: 'city-services',
    operationId: 'listCityServices',
    summary: 'List city services',
    description: 'All city services.',
    table: 'city_services',
  },
  {
    kind: 'coops',
    operationId: 'listCoops',
    summary: 'List cooperatives',
    description: 'The cooperatives of your scope, and those on contracts that you see.',
    table: 'coops',
  },
] as const;

/** GET /v1/lead-entities, /v1/city-services and /v1/coops. */
export function registerReferenceLists(app: FastifyInstance, services: Services): void {
  for (const schema of [namedRef, namedRefPage]) app.addSchema(schema);
  for (const { kind, table, ...documentation } of LISTS) {
    const records = storedWhole(table, 'id');
    app.get(`/v1/${kind}`, {
      schema: {
        ...documentation,
        tags: ['Reference lists'],
        querystring: querystringSchema(parameters),
        response: listResponses(namedRefPage),
      },
      config: { kind, parameters },
      handler: (request, reply) =>
        sendList(services, request, reply, () => ({
          records,
          find: (scope, after, limit) => findNamedRefs(services.database, table, { scope, after, limit }),
          forget: () => undefined,
        })),
    });
  }
}
