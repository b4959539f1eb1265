import type { FastifyInstance } from 'fastify';
import { sql } from 'kysely';
import { KEY_ENVIRONMENTS, KEY_ID, type KeyEnvironment } from '../../access/keys.ts';
import type { Partner } from '../../access/scope.ts';
import type { Engine, Query } from '../../database/database.ts';
import { checkedAt } from '../../database/revision.ts';
import { isInList, parameter } from '../../database/statement.ts';
import { responses } from '../../http/openapi/openapi-responses.ts';
import {
  filledTextSchema,
  nullableSchema,
  numberOf,
  objectSchema,
  openEnum,
  refTo,
  timestampSchema,
} from '../../http/openapi/openapi-schemas.ts';
import { callerOf } from '../../http/request/pipeline.ts';
import { EncodedText, sendText, JSON_TYPE } from '../../http/response/send-text.ts';
import { unauthorized } from '../../http/response/errors.ts';
import { KINDS_AS_LISTED } from '../../kinds.ts';
import type { RouteServices } from '../../services.ts';
import { lastDays } from '../../timestamp.ts';

const MAX_DAYS = 30;

const keyEnvironment = openEnum(
  'KeyEnvironment',
  KEY_ENVIRONMENTS,
  'Where a key works: `live` keys in production, `test` keys everywhere else.',
);

const resourceKind = openEnum('ResourceKind', KINDS_AS_LISTED, 'A kind of resource: the first part of its path.');

const keyUsage = objectSchema(
  {
    day: {
      type: 'string',
      format: 'date',
      maxLength: 10,
      pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
      description: 'The day, in UTC.',
      examples: ['2030-01-20'],
    },
    requests: numberOf('The requests made with this key, whatever their outcome. 0 for a day without requests.', 1200),
  },
  { $id: 'KeyUsage', description: "A day's requests made with a key." },
);

const keyIdText = (description: string, example: string) => ({
  type: 'string',
  minLength: 8,
  maxLength: 8,
  pattern: KEY_ID.source,
  description,
  examples: [example],
});

const key = objectSchema(
  {
    id: keyIdText('The public id of the key, its third part: use it to refer to the key.', '1a2b3c4d'),
    environment: refTo(keyEnvironment),
    created_at: timestampSchema('When the key was issued.', '2029-06-01T09:00:00.000Z'),
    expires_at: nullableSchema(
      timestampSchema('When the key ends: it is refused from then on. Null for never.', '2030-06-01T09:00:00.000Z'),
    ),
    replaced_by: nullableSchema(
      keyIdText('The public id of the key that replaces this one; null if it was not rotated.', '5e6f7g8h'),
    ),
    overlap_ends_at: nullableSchema(
      timestampSchema(
        'After a rotation, when the overlap ends: the same as `expires_at`. Null if the key was not rotated.',
        '2030-06-01T09:00:00.000Z',
      ),
    ),
    partner: filledTextSchema({ description: 'The name of the partner that the key belongs to.', examples: ['acme'] }),
    kinds: {
      type: 'array',
      items: refTo(resourceKind),
      maxItems: KINDS_AS_LISTED.length,
      description: 'The kinds of resource that the partner can request; any other is 403.',
    },
    sees_everything: {
      type: 'boolean',
      description: 'Whether the partner is granted everything, now and in future.',
      examples: [false],
    },
    granted_lead_entities: numberOf('The number of lead entities granted individually.', 12),
    granted_coops: numberOf('The number of cooperatives granted individually.', 1),
    requests_per_minute: {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: 1_000_000,
      description: 'The limit in effect, over all keys of the partner.',
      examples: [600],
    },
    usage: {
      type: 'array',
      items: refTo(keyUsage),
      maxItems: MAX_DAYS,
      description: 'The requests of each day, for up to 30 days, today last. A request is counted within some seconds.',
    },
    data_published_at: nullableSchema(
      timestampSchema('When the newest data was published; null before the first release.', '2030-01-20T06:00:00.000Z'),
    ),
    data_checked_at: nullableSchema(
      timestampSchema(
        'When the service last imported data, even if nothing had changed; null before the first import. Since 1.3.0.',
        '2030-01-27T06:00:00.000Z',
      ),
    ),
  },
  { $id: 'Key', description: 'The key that a request was made with, and what its partner can see.' },
);

/** GET /v1/key. */
export function registerKey(v1: FastifyInstance, { clock, config }: RouteServices): void {
  for (const schema of [keyEnvironment, resourceKind, keyUsage, key]) v1.addSchema(schema);
  const dayCount = Math.min(MAX_DAYS, config.usageRetentionDays);

  v1.get('/key', {
    schema: {
      operationId: 'getKey',
      tags: ['Service'],
      summary: 'Get your key',
      description:
        'The key that you send, when it ends, what its partner can see, its limit, and its requests of the last 30 days. ' +
        'Open to every key, whatever kinds its partner can request. Since 1.1.0.',
      response: responses('The result.', key),
    },
    config: { kind: null, parameters: {} },
    handler: async (request, reply) => {
      const days = lastDays(clock(), dayCount);
      const { result: rows, snapshot } = await request.server.snapshots.read(request, (current) =>
        // A cached key is not looked up, and a replica can lag behind its rotation.
        current.run(ownKey(current.engine, callerOf(request).keyId, days), 'primary'),
      );
      const [row] = rows;
      // Deleted since it was authenticated.
      if (row === undefined) throw unauthorized();
      const requests = new Map(rows.map(({ day, requests: counted }) => [day, counted]));
      const usage = days.map((day) => ({ day, requests: requests.get(day) ?? 0 }));
      // Not through the response cache: usage changes without a new revision.
      return sendText(request, reply, new EncodedText(renderKey(row, snapshot.partner, usage)), JSON_TYPE);
    },
  });
}

interface OwnKeyRow {
  /** The last release in the catalog; null before the first. */
  readonly released: string | null;
  readonly checked: string | null;
  readonly id: string;
  readonly environment: KeyEnvironment;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly replaced_by: string | null;
  /** Null in the only row of a key without requests. */
  readonly day: string | null;
  readonly requests: number | null;
}

/** A partner's key, in a row for each of the days with requests. One lookup per day in the primary key of `usage`. */
export function ownKey(engine: Engine, keyId: string, days: readonly string[]): Query<OwnKeyRow> {
  return {
    statementKey: 'own key',
    columns: ['released', 'checked', 'id', 'environment', 'created_at', 'expires_at', 'replaced_by', 'day', 'requests'],
    build: () => sql`
      select (select max(at) from catalog.releases) as released, ${checkedAt} as checked, own.id, own.environment,
        own.created_at, own.expires_at, own.replaced_by, used.day, used.requests
      from access.keys as own
      left join (
        select usage.day, cast(sum(usage.requests) as bigint) as requests
        from access.usage as usage
        where ${isInList(engine, sql.ref('usage.day'), 'days')}
          and usage.partner_id = ${parameter('partner_id')} and usage.key_id = ${parameter('key_id')}
        group by usage.day
      ) as used on 1 = 1
      where own.id = ${parameter('key_id')} and own.partner_id = ${parameter('partner_id')}`,
    values: { key_id: keyId, days },
  };
}

function renderKey(
  { id, environment, created_at, expires_at, replaced_by, released, checked }: OwnKeyRow,
  { name, kinds, scope, requestsPerMinute }: Partner,
  usage: readonly { day: string; requests: number }[],
): string {
  return JSON.stringify({
    id,
    environment,
    created_at,
    expires_at,
    replaced_by,
    overlap_ends_at: replaced_by === null ? null : expires_at,
    partner: name,
    kinds: KINDS_AS_LISTED.filter((kind) => kinds?.has(kind) ?? true),
    sees_everything: scope.everythingSince !== null,
    granted_lead_entities: scope.leadEntities.size,
    granted_coops: scope.coops.size,
    requests_per_minute: requestsPerMinute,
    usage,
    data_published_at: released,
    data_checked_at: checked ?? released,
  });
}
