import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';
import { feedResponses } from '../../http/openapi/openapi-responses.ts';
import { FEED_PARAMETERS } from '../../http/request/page-parameters.ts';
import {
  InvalidParameter,
  querystringSchema,
  timestampParameter,
  type PageParameter,
} from '../../http/request/parameters.ts';
import type { RecordIndex } from '../../index/record-index.ts';
import type { IndexedKind } from '../../kinds.ts';
import { recordLine, type FeedKind } from '../../paging/changes.ts';
import { indexedListing, type ListedRecords } from '../../paging/pages.ts';
import { sendChanges } from '../../paging/send-changes.ts';
import type { RouteServices } from '../../services.ts';
import { listedContracts } from '../contracts/contracts.ts';
import { detailedSolicitations } from '../solicitations/solicitations.ts';
import { detailedSuppliers } from '../suppliers/suppliers.ts';
import { changesPage, changesSchemas, feedKind } from './schema.ts';

/** The records of the feed, in its order: their details as lines. */
export const FEED_RECORDS: readonly (readonly [IndexedKind, ListedRecords])[] = [
  ['contracts', inFeed('contracts', listedContracts)],
  ['solicitations', inFeed('solicitations', detailedSolicitations)],
  ['suppliers', inFeed('suppliers', detailedSuppliers)],
];

function inFeed(kind: IndexedKind, details: ListedRecords): ListedRecords {
  return { ...details, name: `changed ${kind}`, text: recordLine(kind, details.text) };
}

const kinds: PageParameter<readonly IndexedKind[]> = {
  isOfPage: true,
  schema: {
    type: 'string',
    pattern: `^(${feedKind.enum.join('|')})(,(${feedKind.enum.join('|')})){0,2}$`,
    description:
      'The kinds to list, separated by commas, of `contracts`, `solicitations` and `suppliers`. Without it, all that your ' +
      'key can read. Use the same ones for as long as you keep a copy.',
  },
  parse(value) {
    const named = value.split(',');
    const found = feedKind.enum.filter((kind) => named.includes(kind));
    if (found.length === named.length) return found;
    throw new InvalidParameter(`must name different kinds of ${feedKind.enum.join(', ')}, separated by commas`);
  },
};

const updatedSince: PageParameter<string> = {
  isOfPage: true,
  ...timestampParameter(
    'The `meta.watermark` of your last listing: the response lists what changed since then. Without it, or if changes since ' +
      'then are no longer known, the response lists every record, and `meta.reset` is true.',
  ),
};

const parameters = { updated_since: updatedSince, kinds, ...FEED_PARAMETERS };

/** GET /v1/changes. */
export function registerChanges(
  v1: FastifyInstance,
  services: RouteServices,
  indexes: Readonly<Record<IndexedKind, RecordIndex>>,
): void {
  for (const schema of changesSchemas) v1.addSchema(schema);
  const feedKinds = FEED_RECORDS.map(([kind, records]) => feedKindOf(kind, records, indexes[kind]));
  v1.get('/changes', {
    schema: {
      operationId: 'listChanges',
      tags: ['Changes'],
      summary: 'List changes',
      description:
        'Every contract, solicitation and supplier that changed, became visible to you or was removed since your last ' +
        'listing, whole. It is the way to keep a copy. A change is any change of the detail, notices, documents and ' +
        'questions included, but not the end of `is_open` at the deadline. Since 1.2.0.',
      querystring: querystringSchema(parameters),
      response: feedResponses(changesPage),
    },
    config: { kind: null, parameters },
    handler: (request, reply) => sendChanges(services, request, reply, feedKinds),
  });
}

function feedKindOf(kind: IndexedKind, records: ListedRecords, index: RecordIndex): FeedKind {
  return {
    kind,
    listing: indexedListing(index, records, ({ snapshot, since }) =>
      Promise.resolve(since === null ? [] : index.visibility.newSince(snapshot.scope, since, 'detail')),
    ),
    count: countOnce(index),
  };
}

/** Snapshots whose numbers of records are cached: one for each partner that follows the feed. */
const MAX_COUNTED = 10_000;

/** Counts once for each snapshot, so that a listing without news reads nothing of the index. */
function countOnce(index: RecordIndex): FeedKind['count'] {
  const counted = new LRUCache<string, number>({ max: MAX_COUNTED });
  return async (snapshot) => {
    const { digest } = snapshot;
    const count = counted.get(digest) ?? (await index.count(snapshot, []));
    counted.set(digest, count);
    return count;
  };
}
