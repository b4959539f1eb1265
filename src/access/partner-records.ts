import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { OpenDatabase } from '../database/database.ts';
import { revision, type Revision } from '../database/revision.ts';
import { parameter } from '../database/statement.ts';
import type { Tables } from '../database/tables.ts';
import { type Partner } from './scope.ts';
import { KINDS_AS_LISTED, type Kind } from '../kinds.ts';
import { byOwner } from './visibility/owners.ts';
import type { Owner } from './visibility/rules.ts';

/** One row per grant, or one with nulls for a partner without grants. */
interface PartnerRow extends Pick<
  Selectable<Tables['access.partners']>,
  'id' | 'name' | 'everything_since' | 'grants_changed_at' | 'suspended_at' | 'requests_per_minute' | 'kinds'
> {
  readonly revision: Revision;
  readonly partner_state: string;
  readonly granted_kind: Owner | null;
  readonly resource_id: string | null;
  readonly granted_at: string | null;
}

type KeyRow = Pick<Tables['access.keys'], 'digest' | 'environment' | 'expires_at' | 'replaced_by' | 'revoked_at'>;

/** A partner's `state`, if `access.partners` has the alias `partner`. Each change of grants has its own timestamp. */
export const partnerState: RawBuilder<string> = sql<string>`
  partner.grants_changed_at || ' ' || coalesce(partner.kinds, '*') || ' ' || coalesce(partner.deleted_at, partner.suspended_at, '')`;

const COLUMNS = sql`
  ${revision} as revision, ${partnerState} as partner_state, partner.id, partner.name, partner.everything_since, partner.grants_changed_at,
  partner.suspended_at, partner.requests_per_minute, partner.kinds, granted.kind as granted_kind, granted.resource_id,
  granted.granted_at`;

// Not `cross join`, after which SQLite would read every partner before the keys.
const PARTNERS = sql`
  access.partners as partner
  inner join access.clock as clock on true
  left join access.grants as granted on granted.partner_id = partner.id`;

/** A key, its partner and the partner's grants. Served by the primary keys of keys, partners and grants. */
export const storedKey: RawBuilder<KeyRow & PartnerRow> = sql<KeyRow & PartnerRow>`
  select ${COLUMNS}, key.digest, key.environment, key.expires_at, key.replaced_by, key.revoked_at
  from ${PARTNERS}
  inner join access.keys as key on key.partner_id = partner.id
  where key.id = ${parameter('key_id')}`;

/** A partner that is not deleted, and its grants. Served by the primary keys of partners and grants. */
export const partnerById: RawBuilder<PartnerRow> = sql<PartnerRow>`
  select ${COLUMNS} from ${PARTNERS} where partner.id = ${parameter('partner_id')} and partner.deleted_at is null`;

/**
 * Reads a key by its public ID, with its partner and all grants, in one statement and so one snapshot; null for none.
 * `requestsPerMinute` is the default for partners without a limit of their own.
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

/** Reads a partner by ID; otherwise like `findStoredKey`. */
export async function findPartnerById(
  database: OpenDatabase,
  partnerId: number,
  requestsPerMinute: number,
): Promise<Partner | null> {
  const rows = await database.run('partner', () => partnerById, { partner_id: partnerId }, 'known');
  const [first] = rows;
  return first === undefined ? null : toPartner(first, rows, requestsPerMinute);
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
    state: row.partner_state,
    isSuspended: row.suspended_at !== null,
    requestsPerMinute: row.requests_per_minute ?? requestsPerMinute,
    kinds: kinds && new Set(kinds),
    scope: {
      everythingSince: row.everything_since,
      ...byOwner((owner) => grantsOf(rows, owner)),
      changedAt: row.grants_changed_at,
    },
  };
}

function grantsOf(rows: readonly PartnerRow[], owner: Owner): ReadonlyMap<string, string> {
  const grants = new Map<string, string>();
  for (const row of rows) {
    if (row.granted_kind === owner && row.resource_id !== null && row.granted_at !== null) {
      grants.set(row.resource_id, row.granted_at);
    }
  }
  return grants;
}
