import { pageMeta } from '../../http/openapi/openapi-responses.ts';
import {
  describedRef,
  idSchema,
  nullableRef,
  nullableSchema,
  numberOf,
  objectSchema,
  openEnum,
  refTo,
  timestampSchema,
  type NamedSchema,
} from '../../http/openapi/openapi-schemas.ts';
import { MAX_LIMIT } from '../../http/request/page-parameters.ts';
import { contract } from '../contracts/fields.ts';
import { solicitationDetail } from '../solicitations/fields.ts';
import { supplier } from '../suppliers/fields.ts';

export const feedKind = openEnum(
  'FeedKind',
  ['contracts', 'solicitations', 'suppliers'],
  'A kind of record in the feed of changes.',
);

const change: NamedSchema = {
  $id: 'Change',
  description: 'A record that was added or changed, with `record`, or one that you can no longer see, with `removed`.',
  type: 'object',
  required: ['kind', 'id'],
  properties: {
    kind: refTo(feedKind),
    id: idSchema({ description: 'The id of the record.', examples: ['ctr_pa_01e60812_47883'] }),
    record: {
      oneOf: [refTo(contract), refTo(solicitationDetail), refTo(supplier)],
      description: 'The whole record, as its detail shows it. Always the last field of a change.',
    },
    removed: {
      type: 'boolean',
      description: 'True if the record was visible to you, and is no longer: delete it from your copy.',
      examples: [true],
    },
  },
};

const feedTotals: NamedSchema = {
  $id: 'FeedTotals',
  description:
    'The number of records that you can see as of the watermark, for each kind that the listing has. If your copy has ' +
    'another number, read everything again.',
  type: 'object',
  properties: Object.fromEntries(feedKind.enum.map((kind) => [kind, numberOf(`Number of ${kind}.`, 6435)])),
};

const feedMeta = objectSchema(
  {
    ...pageMeta.properties,
    reset: {
      type: 'boolean',
      description:
        'True if the listing has every record that you can see, not only changes: after its last page, delete from your ' +
        'copy what it did not list. The same on all pages of a listing.',
      examples: [false],
    },
    totals: nullableRef(
      feedTotals,
      'Null until the last page, and if it is not known because something was published or your access changed between the ' +
        'pages. Since 1.3.0.',
      { contracts: 43_120, solicitations: 6435 },
    ),
    watermark: nullableSchema(
      timestampSchema(
        'Pass it as `updated_since` in the next listing. Null until the last page.',
        '2030-01-20T06:00:00.001Z',
      ),
    ),
  },
  { $id: 'FeedMeta', description: 'The position of a page in the listing of changes.' },
);

export const changesPage = objectSchema(
  {
    data: {
      type: 'array',
      items: refTo(change),
      maxItems: MAX_LIMIT,
      description: 'The changes, by kind and then by id: contracts, solicitations, suppliers. Each id at most once.',
    },
    meta: describedRef(feedMeta, 'The position of the page, and how to continue.'),
  },
  { $id: 'ChangesPage', description: 'A page of changes.' },
);

export const changesSchemas = [feedKind, change, feedTotals, feedMeta, changesPage];
