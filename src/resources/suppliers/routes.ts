import type { FastifyInstance } from 'fastify';
import { detailResponses, listResponses } from '../../http/openapi-responses.ts';
import {
  certificationsParameter,
  cursorParameter,
  freeText,
  idParameter,
  instantParameter,
  limitParameter,
  querystringSchema,
  stateParameter,
} from '../../http/parameters.ts';
import { answerList } from '../../paging/answer-list.ts';
import { answerRecord } from '../../paging/answer-record.ts';
import { ListParts } from '../../paging/list-parts.ts';
import type { Turns } from '../../paging/turns.ts';
import { SearchPlanner } from '../../search/search-plan.ts';
import type { Services } from '../../services.ts';
import { idPathSchema } from '../schemas.ts';
import { CertificationNames } from './certification-names.ts';
import { findSupplier, listedSuppliers, walkSuppliers, type SupplierFilters } from './query.ts';
import { embeddedSupplier, supplier, supplierPage } from './schema.ts';

const parameters = {
  q: freeText,
  state: stateParameter,
  certifications: certificationsParameter,
  city_service: idParameter('/v1/city-services', 'Only suppliers that offer this city service'),
  updated_since: instantParameter(
    'Only suppliers that changed or became visible to you at this instant or later: the `X-Sync-Watermark` of your ' +
      'last walk. Any other timestamp, such as your own clock or the greatest `updated_at`, is read as 5 seconds earlier.',
  ),
  cursor: cursorParameter,
  limit: limitParameter,
};

/** GET /v1/suppliers and /v1/suppliers/{id}. */
export function registerSuppliers(app: FastifyInstance, services: Services, turns: Turns): void {
  const { database } = services;
  const planner = new SearchPlanner(database, 'suppliers');
  const names = new CertificationNames(database);
  const parts = new ListParts(database, 'suppliers', turns);
  for (const schema of [embeddedSupplier, supplier, supplierPage]) app.addSchema(schema);

  app.get('/v1/suppliers', {
    schema: {
      operationId: 'listSuppliers',
      tags: ['Suppliers'],
      summary: 'List suppliers',
      description: 'Searches suppliers by keyword, state, certification or city service.',
      querystring: querystringSchema(parameters),
      response: listResponses(supplierPage),
    },
    config: { kind: 'suppliers', parameters },
    handler: (request, reply) =>
      answerList(services, request, reply, {
        records: listedSuppliers,
        parts,
        walk: (scope, filters: SupplierFilters, place) =>
          walkSuppliers(database, { planner, names }, scope, filters, place),
      }),
  });

  app.get<{ Params: { id: string } }>('/v1/suppliers/:id', {
    schema: {
      operationId: 'getSupplier',
      tags: ['Suppliers'],
      summary: 'Get a supplier',
      description: 'One supplier, with all of its certifications.',
      params: idPathSchema('The `id` of the supplier.'),
      response: detailResponses(supplier),
    },
    config: { kind: 'suppliers', parameters: {} },
    handler: (request, reply) =>
      answerRecord(services, request, reply, findSupplier(database, request.partner.scope, request.params.id)),
  });
}
