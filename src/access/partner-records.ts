import { sql, type RawBuilder } from 'kysely';
import type { Database, OpenDatabase } from '../database/database.ts';
import { lastScope, revision, type EventName, type Revision } from '../database/revision.ts';
import { parameter } from '../database/statement.ts';
import type { Tables } from '../database/tables.ts';
import { KINDS_AS_LISTED, type Kind } from '../kinds.ts';
import type { KeyEnvironment } from './keys.ts';
import type { Partner } from './scope.ts';
import { byOwner } from './visibility/owners.ts';

type KeyRow = Pick<Tables['access.keys'], 'digest' | 'environment' | 'expires_at' | 'replaced_by' | 'revoked_at'>;

interface PartnerRow extends Pick<Tables['access.partners'], 'name' | 'requests_per_minute'> {
  readonly id: number;
  readonly revision: Revision;
  readonly scope_event: EventName;
  /** See `parseScope`. */
  readonly scope: string;
}

/** The scope of the row `partner` as one text, whose parts contain no separator. Served by the primary key of grants. */
const scopeText = sql<string>`coalesce(partner.everything_since, '') || '|' || coalesce(partner.suspended_at, '')
  || '|' || coalesce(partner.kinds, '*') || '|' || coalesce((
    select string_agg(granted.kind || ' ' || granted.resource_id || ' ' || granted.granted_at, '|')
    from access.grants as granted where granted.partner_id = partner.id), '')`;

/** A key and its partner. Served by the primary keys of keys, partners and grants. */
export const storedKey: RawBuilder<KeyRow & PartnerRow> = sql<KeyRow & PartnerRow>`
  select ${revision} as revision, ${lastScope(sql.ref('partner.id'))} as scope_event, partner.id, partner.name,
    partner.requests_per_minute, ${scopeText} as scope,
    key.digest, key.environment, key.expires_at, key.replaced_by, key.revoked_at
  from access.keys as key
  inner join access.partners as partner on partner.id = key.partner_id
  where key.id = ${parameter('key_id')}`;

/** The scope of the partner `partner_id`; empty for a deleted one. Served by the primary keys of partners and grants. */
export const currentScope: RawBuilder<string> = sql<string>`coalesce((select ${scopeText}
  from access.partners as partner where partner.id = ${parameter('partner_id')} and partner.deleted_at is null), '')`;

/** Parses what a partner can see. */
export function parseScope(text: string): Pick<Partner, 'isSuspended' | 'kinds' | 'scope'> {
  const [everythingSince = '', suspendedAt, kinds = '', ...texts] = text.split('|');
  const grants = texts.map((grant) => grant.split(' '));
  const allowed = parseStoredKinds(kinds === '*' ? null : kinds);
  return {
    isSuspended: suspendedAt !== '',
    kinds: allowed && new Set(allowed),
    scope: {
      everythingSince: everythingSince === '' ? null : everythingSince,
      ...byOwner(
        (owner) =>
          new Map(grants.flatMap(([kind, id = '', grantedAt = '']) => (kind === owner ? [[id, grantedAt]] : []))),
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
  if (row === undefined) return null;
  const { id, name, scope_event: scopeEvent, requests_per_minute: ownLimit } = row;
  const limits = { requestsPerMinute: ownLimit ?? requestsPerMinute };
  return { ...row, partner: { id, revision: row.revision, name, scopeEvent, ...limits, ...parseScope(row.scope) } };
}

/** Parses the stored kinds that a partner is limited to; null for all. */
export function parseStoredKinds(stored: string | null): Kind[] | null {
  if (stored === null) return null;
  const names = stored.split(',');
  return KINDS_AS_LISTED.filter((kind) => names.includes(kind));
}

/**
 * All keys of an environment that end after `now` and are not revoked, each with the public ID of the key that replaces
 * it; null if it was not rotated. Reads the whole table.
 */
export async function listExpiringKeys({ kysely }: Pick<Database, 'kysely'>, environment: KeyEnvironment, now: string) {
  const { rows } = await sql<{ id: string; partner: string; expiresAt: string; replacedBy: string | null }>`
    select key.id, partner.name as partner, key.expires_at as "expiresAt", key.replaced_by as "replacedBy"
    from access.keys as key join access.partners as partner on partner.id = key.partner_id
    where key.environment = ${environment} and key.revoked_at is null and key.expires_at > ${now}`.execute(kysely);
  return rows;
}
