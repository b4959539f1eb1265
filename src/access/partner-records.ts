import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { OpenDatabase } from '../database/database.ts';
import { lastScope, revision, type EventName, type Revision } from '../database/revision.ts';
import { parameter } from '../database/statement.ts';
import type { Tables } from '../database/tables.ts';
import { KINDS_AS_LISTED, type Kind } from '../kinds.ts';
import type { Partner } from './scope.ts';
import { byOwner } from './visibility/owners.ts';
import type { Owner } from './visibility/rules.ts';

/** One row per grant, or one with nulls for a partner without grants. */
interface PartnerRow extends Pick<
  Selectable<Tables['access.partners']>,
  'id' | 'name' | 'everything_since' | 'suspended_at' | 'requests_per_minute' | 'kinds'
> {
  readonly revision: Revision;
  readonly scope_event: EventName;
  readonly granted_kind: Owner | null;
  readonly resource_id: string | null;
  readonly granted_at: string | null;
}

type GrantRow = Pick<PartnerRow, 'granted_kind' | 'resource_id' | 'granted_at'>;

type KeyRow = Pick<Tables['access.keys'], 'digest' | 'environment' | 'expires_at' | 'replaced_by' | 'revoked_at'>;

const COLUMNS = sql`
  ${revision} as revision, ${lastScope(sql.ref('partner.id'))} as scope_event, partner.id, partner.name,
  partner.everything_since, partner.suspended_at, partner.requests_per_minute, partner.kinds,
  granted.kind as granted_kind, granted.resource_id, granted.granted_at`;

const PARTNERS = sql`
  access.partners as partner
  left join access.grants as granted on granted.partner_id = partner.id`;

/** A key, its partner and the partner's grants. Served by the primary keys of keys, partners and grants. */
export const storedKey: RawBuilder<KeyRow & PartnerRow> = sql<KeyRow & PartnerRow>`
  select ${COLUMNS}, key.digest, key.environment, key.expires_at, key.replaced_by, key.revoked_at
  from ${PARTNERS}
  inner join access.keys as key on key.partner_id = partner.id
  where key.id = ${parameter('key_id')}`;

/**
 * What the partner in the parameter `partner_id` can see, as `parseScope` reads it, if the parameter `scope_event` is not
 * the last change of that; null if it is. Served by the primary keys of partners and grants.
 */
export const newerScope: RawBuilder<string | null> = sql<string | null>`
  case when ${lastScope(parameter('partner_id'))} = ${parameter('scope_event')} then null else coalesce((
    select coalesce(partner.everything_since, '') || '|' || coalesce(partner.suspended_at, '')
      || '|' || coalesce(partner.kinds, '*') || '|' || coalesce((
        select string_agg(granted.kind || ' ' || granted.resource_id || ' ' || granted.granted_at, '|')
        from access.grants as granted where granted.partner_id = partner.id), '')
    from access.partners as partner
    where partner.id = ${parameter('partner_id')} and partner.deleted_at is null), '') end`;

/** Parses what a partner can see; null for one that was deleted. Nothing in it contains a separator. */
export function parseScope(text: string): Pick<Partner, 'isSuspended' | 'kinds' | 'scope'> | null {
  const [everythingSince, suspendedAt, kinds, ...grants] = text.split('|');
  if (everythingSince === undefined || suspendedAt === undefined || kinds === undefined) return null;
  const rows = grants.map((grant) => {
    const [granted_kind, resource_id, granted_at] = grant.split(' ');
    return { granted_kind, resource_id, granted_at } as GrantRow;
  });
  const allowed = parseStoredKinds(kinds === '*' ? null : kinds);
  return {
    isSuspended: suspendedAt !== '',
    kinds: allowed && new Set(allowed),
    scope: {
      everythingSince: everythingSince === '' ? null : everythingSince,
      ...byOwner((owner) => grantsOf(rows, owner)),
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
  const rows = await database.run('key', () => storedKey, { key_id: keyId }, 'known');
  const [first] = rows;
  return first === undefined ? null : { ...first, partner: toPartner(first, rows, requestsPerMinute) };
}

/** Parses the stored kinds that a partner is limited to; null for all. */
export function parseStoredKinds(stored: string | null): Kind[] | null {
  if (stored === null) return null;
  const names = stored.split(',');
  return KINDS_AS_LISTED.filter((kind) => names.includes(kind));
}

function toPartner(row: PartnerRow, rows: readonly PartnerRow[], requestsPerMinute: number): Partner {
  const kinds = parseStoredKinds(row.kinds);
  return {
    id: row.id,
    revision: row.revision,
    name: row.name,
    scopeEvent: row.scope_event,
    isSuspended: row.suspended_at !== null,
    requestsPerMinute: row.requests_per_minute ?? requestsPerMinute,
    kinds: kinds && new Set(kinds),
    scope: {
      everythingSince: row.everything_since,
      ...byOwner((owner) => grantsOf(rows, owner)),
    },
  };
}

function grantsOf(rows: readonly GrantRow[], owner: Owner): ReadonlyMap<string, string> {
  const grants = new Map<string, string>();
  for (const row of rows) {
    if (row.granted_kind === owner && row.resource_id !== null && row.granted_at !== null) {
      grants.set(row.resource_id, row.granted_at);
    }
  }
  return grants;
}
