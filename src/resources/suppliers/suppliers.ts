import type { FastifyInstance } from 'fastify';
import { sql, type RawBuilder } from 'kysely';
import { detailResponses, pageOf } from '../../http/openapi/openapi-responses.ts';
import { filledText, idPathSchema, idText, nullable, object, timestamp } from '../../http/openapi/openapi-schemas.ts';
import { certificationsParameter, idParameter, stateParameter } from '../../http/request/parameters.ts';
import { hasValue, NEVER } from '../../index/conditions.ts';
import type { RecordIndex } from '../../index/record-index.ts';
import {
  indexed,
  indexedListing,
  type ListedRecords,
  updatedSince,
  withValue,
  words,
  type IndexFilter,
} from '../../paging/pages.ts';
import { csvColumns } from '../../paging/csv.ts';
import { listRoute, sendRecord } from '../../paging/send.ts';
import type { Services } from '../../services.ts';
import { STATES } from '../../us-states.ts';
import type { CertificationList } from '../certifications/certification-list.ts';
import { abbreviationText } from '../certifications/certifications.ts';
import { findRecord } from '../find-record.ts';
import { withUpdatedAt } from '../finished-text.ts';

const embeddedFields = {
  id: idText({ description: 'The id of the supplier.', examples: ['sup_md_00_061'] }),
  name: filledText({ description: 'The name of the supplier.', examples: ['ATS CALL CENTERS, INC.'] }),
  states_served: {
    type: 'array',
    items: {
      type: 'string',
      minLength: 2,
      maxLength: 2,
      pattern: '^[A-Z]{2}$',
      description: 'A USPS two-letter state code.',
    },
    maxItems: STATES.size,
    uniqueItems: true,
    description: 'USPS two-letter state codes, alphabetical; empty if no service area is set up.',
    examples: [['MD', 'PA']],
  },
  location: nullable({
    type: 'string',
    description:
      'The location as text for people: usually a city and state code, such as `Glen Burnie, MD`, but it can be any ' +
      'text, or null.',
    examples: ['Glen Burnie, MD'],
  }),
  logo: nullable({ type: 'string', description: 'The logo, usually its address; null if there is none.' }),
  email: nullable({ type: 'string', description: 'The contact e-mail address; null if there is none.' }),
  website: nullable({ type: 'string', description: 'The website; null if there is none.' }),
};

export const embeddedSupplier = object(embeddedFields, {
  $id: 'EmbeddedSupplier',
  description: 'A supplier in a contract.',
});

export const supplier = object(
  {
    ...embeddedFields,
    certifications: {
      type: 'array',
      items: abbreviationText('The abbreviation of a certification.'),
      uniqueItems: true,
      description:
        'Abbreviations, small-business and diversity certifications before technical ones. Lists show up to 10; ' +
        'the detail shows all.',
      examples: [['DBE', 'MBE', 'SBE']],
    },
    updated_at: timestamp('When anything in this record last changed.'),
  },
  { $id: 'Supplier', description: 'A supplier.' },
);

const supplierPage = pageOf(supplier, 'A page of suppliers.');

/** Suppliers that hold all certifications of a list, by their names in the catalog state in which they are found. */
function holding(certifications: CertificationList): IndexFilter {
  return {
    ...certificationsParameter,
    async conditions(names, { catalog }) {
      const abbreviations = await certifications.resolve(names, catalog);
      return abbreviations.map((held) => (held === null ? NEVER : hasValue('certification', held)));
    },
  };
}

export const supplierFilters = (certifications: CertificationList) => ({
  q: words,
  state: withValue('state', stateParameter),
  certifications: holding(certifications),
  city_service: withValue(
    'city_service',
    idParameter('/v1/city-services', 'Only suppliers that offer this city service'),
  ),
  updated_since: updatedSince('suppliers'),
});

/** GET /v1/suppliers and /v1/suppliers/{id}. */
export function registerSuppliers(
  v1: FastifyInstance,
  services: Services,
  index: RecordIndex,
  certifications: CertificationList,
): void {
  for (const schema of [embeddedSupplier, supplier, supplierPage]) v1.addSchema(schema);

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
      filters: supplierFilters(certifications),
      listingOf: (conditionsIn) => indexedListing(index, listedSuppliers, conditionsIn),
    }),
  );

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
      sendRecord(services, request, reply, (scope) =>
        findRecord(services.database.engine, 'suppliers', detailedSuppliers, scope, request.params.id),
      ),
  });
}

const textWith = (certifications: RawBuilder<string>): RawBuilder<string> =>
  withUpdatedAt(sql<string>`record.document || ',"certifications":' || ${certifications}`, 'changed_publication');

export const listedSuppliers = indexed('suppliers', {
  text: textWith(sql<string>`record.certifications_preview`),
  bytes: sql<number>`octet_length(record.document) + octet_length(record.certifications_preview)`,
});

export const detailedSuppliers: ListedRecords = {
  ...listedSuppliers,
  text: textWith(sql<string>`record.certifications_all`),
  bytes: sql<number>`octet_length(record.document) + octet_length(record.certifications_all)`,
};
