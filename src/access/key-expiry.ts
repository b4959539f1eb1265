import type { NotNull } from 'kysely';
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
  return kysely
    .selectFrom('access.keys as key')
    .innerJoin('access.partners as partner', 'partner.id', 'key.partner_id')
    .select(['key.id', 'partner.name as partner', 'key.expires_at as expiresAt', 'key.replaced_by as replacedBy'])
    .where('key.environment', '=', environment)
    .where('key.revoked_at', 'is', null)
    .where('key.expires_at', '>', now)
    .$narrowType<{ expiresAt: NotNull }>()
    .execute();
}
