import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { revision } from '../database/revision.ts';
import type { KeyEnvironment } from './keys.ts';
import { type Partner } from './scope.ts';
import { KINDS_AS_LISTED, type Kind } from '../kinds.ts';

/** A stored key, with its partner. */
export interface StoredKey {
  readonly partner: Partner;
  readonly digest: string;
  readonly environment: KeyEnvironment;
  readonly expiresAt: string | null;
  /** Set once the key was rotated: `expiresAt` is then the end of the overlap. */
  readonly replacedBy: string | null;
  readonly revokedAt: string | null;
}

/**
 * Reads a key by its public ID, with its partner and all the partner's grants, in one statement and therefore one
 * snapshot. Served by the primary keys of keys, partners and grants.
 *
 * @param requestsPerMinute default for partners without a limit of their own.
 * @returns null if there is no such key.
 */
export async function findStoredKey(
  database: Database,
  keyId: string,
  requestsPerMinute: number,
): Promise<StoredKey | null> {
  const rows = await partnerRows(database)
    .innerJoin('access.keys as key', 'key.partner_id', 'partner.id')
    .select(['key.digest', 'key.environment', 'key.expires_at', 'key.replaced_by', 'key.revoked_at'])
    .where('key.id', '=', keyId)
    .execute();
  const [first] = rows;
  if (first === undefined) return null;
  return {
    partner: toPartner(first, rows, requestsPerMinute),
    digest: first.digest,
    environment: first.environment,
    expiresAt: first.expires_at,
    replacedBy: first.replaced_by,
    revokedAt: first.revoked_at,
  };
}

/** Reads a partner by ID; otherwise like `findStoredKey`. */
export async function findPartnerById(
  database: Database,
  partnerId: number,
  requestsPerMinute: number,
): Promise<Partner | null> {
  const rows = await partnerRows(database).where('partner.id', '=', partnerId).execute();
  const [first] = rows;
  return first === undefined ? null : toPartner(first, rows, requestsPerMinute);
}

/** Parses the stored kinds that a partner is limited to; null for all. */
export function parseStoredKinds(stored: string | null): Kind[] | null {
  if (stored === null) return null;
  const names = stored.split(',');
  return KINDS_AS_LISTED.filter((kind) => names.includes(kind));
}

// One row per grant, or one with nulls for a partner without grants.
function partnerRows({ kysely }: Database) {
  return kysely
    .selectFrom('access.partners as partner')
    .innerJoin('access.clock as clock', (join) => join.on(sql<boolean>`true`))
    .leftJoin('access.grants as granted', 'granted.partner_id', 'partner.id')
    .select([
      revision.as('revision'),
      'partner.id',
      'partner.name',
      'partner.everything_since',
      'partner.grants_changed_at',
      'partner.suspended_at',
      'partner.requests_per_minute',
      'partner.kinds',
      'granted.kind as granted_kind',
      'granted.resource_id',
      'granted.granted_at',
    ]);
}

type PartnerRow = Awaited<ReturnType<ReturnType<typeof partnerRows>['execute']>>[number];

function toPartner(row: PartnerRow, rows: readonly PartnerRow[], requestsPerMinute: number): Partner {
  const kinds = parseStoredKinds(row.kinds);
  return {
    id: row.id,
    revision: row.revision,
    name: row.name,
    isSuspended: row.suspended_at !== null,
    requestsPerMinute: row.requests_per_minute ?? requestsPerMinute,
    kinds: kinds && new Set(kinds),
    scope: {
      everythingSince: row.everything_since,
      leadEntities: grantsOf(rows, 'lead_entity'),
      coops: grantsOf(rows, 'coop'),
      changedAt: row.grants_changed_at,
    },
  };
}

function grantsOf(rows: readonly PartnerRow[], kind: 'lead_entity' | 'coop'): ReadonlyMap<string, string> {
  const grants = new Map<string, string>();
  for (const row of rows) {
    if (row.granted_kind === kind && row.resource_id !== null && row.granted_at !== null) {
      grants.set(row.resource_id, row.granted_at);
    }
  }
  return grants;
}
