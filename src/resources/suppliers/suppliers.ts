import type { FastifyInstance } from 'fastify';
import { sql, type RawBuilder } from 'kysely';
import { certificationsParameter, idsParameter, statesParameter } from '../../http/request/parameters.ts';
import { hasAny, NEVER } from '../../index/conditions.ts';
import type { RecordIndex } from '../../index/record-index.ts';
import { indexed, type ListedRecords, updatedSince, withAny, words, type IndexFilter } from '../../paging/pages.ts';
import type { RouteServices } from '../../services.ts';
import type { CertificationList } from '../certifications/certification-list.ts';
import { findRecord, withUpdatedAt } from '../find-record.ts';
import { registerRecords } from '../register-records.ts';
import { embeddedSupplier, supplier } from './fields.ts';

export const supplierFilters = (certifications: CertificationList) => ({
  q: words,
  state: withAny('state', statesParameter),
  certifications: {
    ...certificationsParameter,
    async conditions(names, { snapshot }) {
      const abbreviations = await certifications.resolve(names, snapshot);
      return abbreviations.map((held) => (held === null ? NEVER : hasAny('certification', [held])));
    },
  } satisfies IndexFilter,
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
  for (const schema of [embeddedSupplier, supplier]) v1.addSchema(schema);
  registerRecords(v1, services, index, {
    kind: 'suppliers',
    schema: supplier,
    filters: supplierFilters(certifications),
    listed: listedSuppliers,
    list: 'Searches suppliers by keyword, state, certification or city service.',
    detail: 'One supplier, with all of its certifications.',
    countSince: ' Since 1.3.0.',
    find: (snapshot, id) => findRecord(snapshot, 'suppliers', detailedSuppliers, id),
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
