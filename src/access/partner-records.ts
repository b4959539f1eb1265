import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { OpenDatabase } from '../database/database.ts';
import { lastScope, revision, type EventName, type Revision } from '../database/revision.ts';
import { parameter } from '../database/statement.ts';
import type { Tables } from '../database/tables.ts';
import { KINDS_AS_LISTED, type Kind } from '../kinds.ts';
import type { Partner } from './scope.ts';
import { byOwner } from './visibility/owners.ts';

interface PartnerRow extends Pick<Selectable<Tables['access.partners']>, 'id' | 'name' | 'requests_per_minute'> {
  readonly revision: Revision;
  readonly scope_event: EventName;
  /** What the partner can see, as `parseScope` reads it. */
  readonly scope: string;
}

type KeyRow = Pick<Tables['access.keys'], 'digest' | 'environment' | 'expires_at' | 'replaced_by' | 'revoked_at'>;

/** What the row `partner` can see, as `parseScope` reads it. Served by the primary key of grants. */
const storedScope = sql<string>`coalesce(partner.everything_since, '') || '|' || coalesce(partner.suspended_at, '')
  || '|' || coalesce(partner.kinds, '*') || '|' || coalesce((
    select string_agg(granted.kind || ' ' || granted.resource_id || ' ' || granted.granted_at, '|')
    from access.grants as granted where granted.partner_id = partner.id), '')`;

/** A key and its partner. Served by the primary keys of keys, partners and grants. */
export const storedKey: RawBuilder<KeyRow & PartnerRow> = sql<KeyRow & PartnerRow>`
  select ${revision} as revision, ${lastScope(sql.ref('partner.id'))} as scope_event, partner.id, partner.name,
    partner.requests_per_minute, ${storedScope} as scope,
    key.digest, key.environment, key.expires_at, key.replaced_by, key.revoked_at
  from access.partners as partner
  inner join access.keys as key on key.partner_id = partner.id
  where key.id = ${parameter('key_id')}`;

/**
 * What the partner in the parameter `partner_id` can see, if the parameter `scope_event` is not the last change of that;
 * null if it is. Served by the primary keys of partners and grants.
 */
export const newerScope: RawBuilder<string | null> = sql<string | null>`
  case when ${lastScope(parameter('partner_id'))} = ${parameter('scope_event')} then null else coalesce((
    select ${storedScope} from access.partners as partner
    where partner.id = ${parameter('partner_id')} and partner.deleted_at is null), '') end`;

/** Parses what a partner can see; null for one that was deleted. Nothing in it contains a separator. */
export function parseScope(text: string): Pick<Partner, 'isSuspended' | 'kinds' | 'scope'> | null {
  const [everythingSince, suspendedAt, kinds, ...grants] = text.split('|');
  if (everythingSince === undefined || suspendedAt === undefined || kinds === undefined) return null;
  const allowed = parseStoredKinds(kinds === '*' ? null : kinds);
  const granted = grants.map((grant) => grant.split(' '));
  return {
    isSuspended: suspendedAt !== '',
    kinds: allowed && new Set(allowed),
    scope: {
      everythingSince: everythingSince === '' ? null : everythingSince,
      ...byOwner(
        (owner) => new Map(granted.flatMap(([kind, id, at]) => (kind === owner && id && at ? [[id, at]] : []))),
      ),
    },
  };
}

/**
 * Reads a key by its public ID, with its partner and all grants, in one statement; null for none.
 *
 * @param requestsPerMinute default for partners without a limit of their own.
 */
export async function findStoredKey(
  database: OpenDatabase,
  keyId: string,
  requestsPerMinute: number,
): Promise<(KeyRow & { readonly partner: Partner }) | null> {
  const [row] = await database.run('key', () => storedKey, { key_id: keyId }, 'known');
  const parsed = row === undefined ? null : parseScope(row.scope);
  if (row === undefined || parsed === null) return null;
  const { id, revision: read, name, scope_event: scopeEvent, requests_per_minute: own } = row;
  return {
    ...row,
    partner: { id, revision: read, name, scopeEvent, requestsPerMinute: own ?? requestsPerMinute, ...parsed },
  };
}

/** Parses the stored kinds that a partner is limited to; null for all. */
export function parseStoredKinds(stored: string | null): Kind[] | null {
  if (stored === null) return null;
  const names = stored.split(',');
  return KINDS_AS_LISTED.filter((kind) => names.includes(kind));
}
