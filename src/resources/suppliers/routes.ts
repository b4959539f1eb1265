import type { FastifyInstance } from 'fastify';
import { detailResponses, listResponses } from '../../http/openapi-responses.ts';
import {
  certificationsParameter,
  cursorParameter,
  freeText,
  idParameter,
  timestampParameter,
  limitParameter,
  querystringSchema,
  stateParameter,
} from '../../http/parameters.ts';
import { RecordIndex } from '../../index/record-index.ts';
import type { SetCache } from '../../index/set-cache.ts';
import { sendList } from '../../paging/send-list.ts';
import { sendRecord } from '../../paging/send-record.ts';
import { indexedListing, type Listing } from '../../paging/pages.ts';
import type { Since } from '../../paging/updated-since.ts';
import type { Services } from '../../services.ts';
import { idPathSchema } from '../schemas.ts';
import type { CertificationList } from '../certifications/certification-list.ts';
import { findSupplier, listedSuppliers, supplierConditions, type SupplierFilters } from './query.ts';
import { embeddedSupplier, supplier, supplierPage } from './schema.ts';

const parameters = {
  q: freeText,
  state: stateParameter,
  certifications: certificationsParameter,
  city_service: idParameter('/v1/city-services', 'Only suppliers that offer this city service'),
  updated_since: timestampParameter(
    'Only suppliers that changed or became visible to you at this instant or later: the `X-Sync-Watermark` of your ' +
      'last walk. Any other timestamp, such as your own clock or the greatest `updated_at`, is read as 5 seconds earlier.',
  ),
  cursor: cursorParameter,
  limit: limitParameter,
};

/** GET /v1/suppliers and /v1/suppliers/{id}. */
export function registerSuppliers(
  app: FastifyInstance,
  services: Services,
  sets: SetCache,
  certifications: CertificationList,
): void {
  const { database } = services;
  const index = new RecordIndex(database, 'suppliers', sets);
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
      sendList(services, request, reply, (filters: SupplierFilters, since) =>
        listSuppliers(index, certifications, filters, since),
      ),
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
      sendRecord(services, request, reply, findSupplier(database, request.partner.scope, request.params.id)),
  });
}

/**
 * Lists suppliers. Names in the `certifications` filter are resolved in the same catalog state in which the suppliers
 * are found.
 */
function listSuppliers(
  index: RecordIndex,
  certifications: CertificationList,
  filters: SupplierFilters,
  since: Since | null,
): Listing {
  const listing = (abbreviations: readonly (string | null)[]): Listing =>
    indexedListing(index, listedSuppliers, (scope) => supplierConditions(scope, filters, since, abbreviations));
  const { certifications: names } = filters;
  if (names === undefined) return listing([]);
  return {
    ...listing([]),
    find: async (scope, after, limit) => {
      const { catalog, abbreviations } = await certifications.resolve(names);
      const found = await listing(abbreviations).find(scope, after, limit);
      return found.catalog === catalog ? found : { ...found, catalog: 'another' };
    },
    forget: () => {
      index.forget();
      certifications.forget();
    },
  };
}
