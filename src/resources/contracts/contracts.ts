import type { FastifyInstance } from 'fastify';
import { sql } from 'kysely';
import { idsParameter } from '../../http/request/parameters.ts';
import type { RecordIndex } from '../../index/record-index.ts';
import { indexed, updatedSince, withAny, words } from '../../paging/pages.ts';
import type { RouteServices } from '../../services.ts';
import { findRecord, withUpdatedAt } from '../find-record.ts';
import { registerRecords } from '../register-records.ts';
import { contract } from './fields.ts';

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
  v1.addSchema(contract);
  registerRecords(v1, services, index, {
    kind: 'contracts',
    schema: contract,
    filters: contractFilters,
    listed: listedContracts,
    list: 'Searches cooperative purchasing contracts by keyword, lead entity, coop, supplier or city service.',
    detail: 'One contract, with all of its suppliers and city services.',
    countSince: ' Since 1.3.0.',
    find: (snapshot, id) => findRecord(snapshot, 'contracts', listedContracts, id),
  });
}

export const listedContracts = indexed('contracts', {
  text: withUpdatedAt(sql<string>`record.document`, 'changed_release'),
  bytes: sql<number>`octet_length(record.document)`,
});
