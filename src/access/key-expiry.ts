import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { DAY_MS } from '../timestamp.ts';
import type { KeyEnvironment } from './keys.ts';

/** For this long before a key ends, responses to requests with it carry `X-Key-Expires-At`. */
export const EXPIRY_NOTICE_MS = 30 * DAY_MS;

/** The end of a key that has one. */
export interface KeyExpiry {
  readonly expiresAt: string;
  /** From when on responses carry the end: 30 days before it, or from the start of a rotation's overlap. */
  readonly warnFromMs: number;
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
