import type { FastifyInstance } from 'fastify';
import { sql, type RawBuilder } from 'kysely';
import { detailResponses, pageOf } from '../../http/openapi/openapi-responses.ts';
import { idPathSchema } from '../../http/openapi/openapi-schemas.ts';
import { certificationsParameter, idsParameter, statesParameter } from '../../http/request/parameters.ts';
import { hasAny, NEVER } from '../../index/conditions.ts';
import type { RecordIndex } from '../../index/record-index.ts';
import {
  indexed,
  indexedListing,
  type ListedRecords,
  updatedSince,
  withAny,
  words,
  type IndexFilter,
} from '../../paging/pages.ts';
import { csvColumns } from '../../paging/csv.ts';
import { countRoute, listRoute, sendRecord } from '../../paging/send.ts';
import type { RouteServices } from '../../services.ts';
import type { CertificationList } from '../certifications/certification-list.ts';
import { findRecord } from '../find-record.ts';
import { withUpdatedAt } from '../served-json.ts';
import { embeddedSupplier, supplier } from './fields.ts';

const supplierPage = pageOf(supplier, 'A page of suppliers.');

/** Suppliers that hold all certifications of a list, by their names in the same catalog. */
function holding(certifications: CertificationList): IndexFilter {
  return {
    ...certificationsParameter,
    async conditions(names, { snapshot }) {
      const abbreviations = await certifications.resolve(names, snapshot);
      return abbreviations.map((held) => (held === null ? NEVER : hasAny('certification', [held])));
    },
  };
}

export const supplierFilters = (certifications: CertificationList) => ({
  q: words,
  state: withAny('state', statesParameter),
  certifications: holding(certifications),
  city_service: withAny(
    'city_service',
    idsParameter('/v1/city-services', 'Only suppliers that offer this city service'),
  ),
  updated_since: updatedSince('suppliers'),
});

/** GET /v1/suppliers, /v1/suppliers/count and /v1/suppliers/{id}. */
export function registerSuppliers(
  v1: FastifyInstance,
  services: RouteServices,
  index: RecordIndex,
  certifications: CertificationList,
): void {
  for (const schema of [embeddedSupplier, supplier, supplierPage]) v1.addSchema(schema);
  const filters = supplierFilters(certifications);

  v1.get(
    '/suppliers',
    listRoute(services, {
      kind: 'suppliers',
      schema: {
        operationId: 'listSuppliers',
        tags: ['Suppliers'],
        summary: 'List suppliers',
        description: 'Searches suppliers by keyword, state, certification or city service.',
      },
      page: supplierPage,
      columns: csvColumns(supplier.properties),
      filters,
      listingOf: (conditionsIn) => indexedListing(index, listedSuppliers, conditionsIn),
    }),
  );

  v1.get('/suppliers/count', countRoute(services, index, 'suppliers', filters, ' Since 1.3.0.'));

  v1.get<{ Params: { id: string } }>('/suppliers/:id', {
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
      sendRecord(services, request, reply, (snapshot) =>
        findRecord(snapshot, 'suppliers', detailedSuppliers, request.params.id),
      ),
  });
}

const textWith = (certifications: RawBuilder<string>): RawBuilder<string> =>
  withUpdatedAt(sql<string>`record.document || ',"certifications":' || ${certifications}`, 'changed_release');

export const listedSuppliers = indexed('suppliers', {
  text: textWith(sql<string>`record.certifications_preview`),
  bytes: sql<number>`octet_length(record.document) + octet_length(record.certifications_preview)`,
});

export const detailedSuppliers: ListedRecords = {
  ...listedSuppliers,
  text: textWith(sql<string>`record.certifications_all`),
  bytes: sql<number>`octet_length(record.document) + octet_length(record.certifications_all)`,
};
