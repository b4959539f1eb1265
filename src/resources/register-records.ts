import type { FastifyInstance } from 'fastify';
import type { Snapshot } from '../access/snapshot.ts';
import { countSchema, responses } from '../http/openapi/openapi-responses.ts';
import type { RecordSchema } from '../http/openapi/openapi-schemas.ts';
import { querystringSchema, type Filters } from '../http/request/parameters.ts';
import type { Condition } from '../index/conditions.ts';
import type { RecordIndex } from '../index/record-index.ts';
import type { IndexedKind } from '../kinds.ts';
import { indexedListing, type IndexQuery, type ListedRecords } from '../paging/pages.ts';
import { registerList, sendCount, sendRecord, type RecordQuery } from '../paging/send.ts';
import type { RouteServices } from '../services.ts';

/** The routes of an indexed kind. */
interface RecordRoutes {
  readonly kind: IndexedKind;
  readonly schema: RecordSchema;
  /** If the detail has more fields. */
  readonly detailSchema?: RecordSchema;
  readonly filters: Filters<IndexQuery, Condition>;
  readonly listed: ListedRecords;
  /** Descriptions of the list, the detail, and the end of those of the `id` in the path and of the count. */
  readonly list: string;
  readonly detail: string;
  readonly orId?: string;
  readonly countSince?: string;
  /** Finds a detail by the text in its path. */
  readonly find: (snapshot: Snapshot, id: string) => RecordQuery;
}

/** Registers the list, the count and the detail of an indexed kind. */
export function registerRecords(
  v1: FastifyInstance,
  services: RouteServices,
  index: RecordIndex,
  routes: RecordRoutes,
): void {
  const { kind, schema, detailSchema = schema, filters, listed, find, orId = '', countSince = '' } = routes;
  const plural = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
  const singular = plural.slice(0, -1);
  const tags = [plural];
  const id = { type: 'string', minLength: 1, description: `The \`id\` of the ${singular.toLowerCase()}${orId}.` };
  registerList(v1, services, {
    kind,
    schema: { operationId: `list${plural}`, tags, summary: `List ${kind}`, description: routes.list },
    record: schema,
    filters,
    listingOf: (conditionsIn) => indexedListing(index, listed, conditionsIn),
  });
  v1.get(`/${kind}/count`, {
    schema: {
      operationId: `count${plural}`,
      tags,
      summary: `Count ${kind}`,
      description: `The number of ${kind} that the list returns for the same filters.${countSince}`,
      querystring: querystringSchema(filters),
      response: responses('The result.', countSchema),
    },
    config: { kind, parameters: filters },
    handler: (request, reply) => sendCount(services, request, reply, index, filters),
  });
  v1.get<{ Params: { id: string } }>(`/${kind}/:id`, {
    schema: {
      operationId: `get${singular}`,
      tags,
      summary: `Get a ${singular.toLowerCase()}`,
      description: routes.detail,
      params: { type: 'object', required: ['id'], properties: { id } },
      response: responses('The record.', detailSchema, { isDetail: true }),
    },
    config: { kind, parameters: {} },
    handler: (request, reply) => sendRecord(services, request, reply, (snapshot) => find(snapshot, request.params.id)),
  });
}
