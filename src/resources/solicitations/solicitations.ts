import type { FastifyInstance } from 'fastify';
import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Snapshot } from '../../access/snapshot.ts';
import { parameter } from '../../database/statement.ts';
import { anyOfParameter, booleanParameter, idsParameter, nigpParameter } from '../../http/request/parameters.ts';
import { areOpen } from '../../index/conditions.ts';
import type { RecordIndex } from '../../index/record-index.ts';
import {
  indexed,
  type IndexFilter,
  type ListedRecords,
  closing,
  updatedSince,
  withAny,
  words,
} from '../../paging/pages.ts';
import type { RecordQuery } from '../../paging/send.ts';
import type { RouteServices } from '../../services.ts';
import { findRecord, withUpdatedAt } from '../find-record.ts';
import { registerRecords } from '../register-records.ts';
import { detailItems, solicitation, solicitationDetail, solicitationStatus } from './fields.ts';

const NOT_OPEN = solicitationStatus.enum.filter((status) => status !== 'open');

const openNow: IndexFilter = {
  ...booleanParameter(
    'Only solicitations with this `is_open` at the time of the request. One whose deadline passes counts as unchanged for ' +
      '`updated_since`. Since 1.3.0.',
  ),
  conditions: (isOpen, { now }) => areOpen(isOpen === 'true', now, NOT_OPEN),
};

export const solicitationFilters = {
  q: words,
  status: withAny(
    'status',
    anyOfParameter(
      solicitationStatus,
      'Only solicitations with this stored status. It stays `open` after the deadline.',
    ),
  ),
  lead_entity: withAny('lead_entity', idsParameter('/v1/lead-entities', 'Only solicitations of this issuer')),
  nigp: withAny('nigp', nigpParameter),
  is_open: openNow,
  closing_after: closing(
    'at least',
    'Only solicitations that close at this time or later. Those without a close date never match.',
  ),
  closing_before: closing(
    'at most',
    'Only solicitations that close at this time or earlier. Those without a close date never match.',
  ),
  updated_since: updatedSince(
    'solicitations',
    'New notices, documents and questions do not count: request the detail again for them.',
  ),
};

/** GET /v1/solicitations, /v1/solicitations/count and /v1/solicitations/{id}. */
export function registerSolicitations(v1: FastifyInstance, services: RouteServices, index: RecordIndex): void {
  for (const schema of [solicitationStatus, solicitation]) v1.addSchema(schema);
  registerRecords(v1, services, index, {
    kind: 'solicitations',
    schema: solicitation,
    detailSchema: solicitationDetail,
    filters: solicitationFilters,
    listed: listedSolicitations,
    list:
      'Open and historic solicitations of the lead entities in your scope, ordered by id, without drafts. Restrict to ' +
      'a window of deadlines with `closing_after` and `closing_before`.',
    detail: 'One solicitation with its documents, requested items, notices and questions.',
    orId: ', or its numeric `ref`',
    find: findSolicitation,
  });
  for (const schema of [solicitationDetail, ...detailItems]) v1.addSchema(schema);
}

/** Up to 16 digits, like 2^53, which is above every `ref`. */
const REF = /^[1-9][0-9]{0,15}$/;

/** Whether bidding is open now, which cannot be stored: the status stays `open` after the deadline. */
const isOpen = sql<SqlBool>`record.status = 'open'
  and (record.close_at is null or record.close_at > ${parameter('now')})`;

const finished = (document: RawBuilder<string>): RawBuilder<string> =>
  withUpdatedAt(document, 'updated_release', isOpen);

const closesAt = sql<string | null>`case when record.status = 'open' and record.close_at > ${parameter('now')}
  then record.close_at end`;

export const listedSolicitations = indexed('solicitations', {
  text: finished(sql<string>`record.document`),
  bytes: sql<number>`octet_length(record.document)`,
  changesAt: closesAt,
});

export const detailedSolicitations: ListedRecords = {
  ...listedSolicitations,
  text: finished(sql<string>`record.document || record.detail`),
  bytes: sql<number>`octet_length(record.document) + octet_length(record.detail)`,
};

/** Finds a solicitation by ID, which is never all digits, or by `ref`, which has no leading zeros. */
export function findSolicitation(shown: Pick<Snapshot, 'engine' | 'scope'>, idOrRef: string): RecordQuery {
  const isRef = REF.test(idOrRef);
  const id = isRef ? Number(idOrRef) : idOrRef;
  return findRecord(shown, 'solicitations', detailedSolicitations, id, isRef ? 'ref' : 'id');
}
