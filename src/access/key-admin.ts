import { recordChange } from '../database/audit.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { bumpRevision } from '../database/commit-timestamps.ts';
import { formatTimestamp, type Clock } from '../timestamp.ts';
import { AccessError } from './access-error.ts';
import { digestOf, isKeyId, issueKeyText, parseKey, type KeyEnvironment } from './keys.ts';
import { getPartnerReference } from './partner-admin.ts';

export type KeyState = 'active' | 'expired' | 'revoked';

/** A key as the operator sees it, without its secret. */
export interface KeyDetails {
  readonly id: string;
  readonly partner: string;
  readonly environment: KeyEnvironment;
  readonly state: KeyState;
  readonly createdAt: string;
  /** The first timestamp at which the key is rejected; null for never. */
  readonly expiresAt: string | null;
  /** When the key's original lifetime ends, regardless of rotations; null for never. */
  readonly issuedExpiresAt: string | null;
  /** The public ID of the latest key that replaced this one; null if it was not rotated. */
  readonly replacedBy: string | null;
  readonly revokedAt: string | null;
}

/** A key after its rotation. */
export interface ReplacedKey extends KeyDetails {
  /** True if an earlier rotation promised a longer overlap than this one, which the key keeps. */
  readonly keepsEarlierOverlap: boolean;
}

/** A newly issued key. Its text is not available again. */
export interface NewKey {
  readonly key: string;
  readonly details: KeyDetails;
}

/**
 * Issues a key to a partner.
 *
 * @param lifetimeMs null for a key that never expires.
 * @throws AccessError if there is no such partner.
 */
export function issueKey(
  database: Database,
  clock: Clock,
  partnerName: string,
  { environment, lifetimeMs }: { environment: KeyEnvironment; lifetimeMs: number | null },
): Promise<NewKey> {
  return inTransaction(database, async (transaction) => {
    await bumpRevision(transaction);
    const issued = await insertKey(transaction, clock(), partnerName, environment, lifetimeMs);
    const { id: keyId, expiresAt } = issued.details;
    const details = { environment, expires_at: expiresAt };
    await recordChange(transaction, clock, { action: 'key issue', partner: partnerName, keyId, details });
    return issued;
  });
}

/**
 * Issues a key that replaces another. The old key remains valid for the overlap, or for that of an earlier rotation if
 * it ends later, but never beyond its original lifetime. The new key is for the same environment, and its lifetime is
 * as long as the old key's original one.
 *
 * @throws AccessError if there is no such key, or it is no longer valid.
 */
export function rotateKey(
  database: Database,
  clock: Clock,
  keyId: string,
  overlapMs: number,
): Promise<{ issued: NewKey; replaced: ReplacedKey }> {
  return inTransaction(database, async (transaction) => {
    await bumpRevision(transaction);
    const nowMs = clock();
    const old = await getKey(transaction, nowMs, keyId);
    if (old.state !== 'active') {
      throw new AccessError(`key ${keyId} is ${old.state}: issue a new one with "pds key issue ${old.partner}"`);
    }
    const { issuedExpiresAt } = old;
    const lifetimeMs = issuedExpiresAt === null ? null : Date.parse(issuedExpiresAt) - Date.parse(old.createdAt);
    const issued = await insertKey(transaction, nowMs, old.partner, old.environment, lifetimeMs);
    const overlapEnd = formatTimestamp(nowMs + overlapMs);
    const promisedEnd = findPromisedEnd(old);
    const keepsEarlierOverlap = promisedEnd !== null && promisedEnd > overlapEnd;
    const wantedEnd = keepsEarlierOverlap ? promisedEnd : overlapEnd;
    const expiresAt = issuedExpiresAt !== null && issuedExpiresAt < wantedEnd ? issuedExpiresAt : wantedEnd;
    await transaction.kysely
      .updateTable('access.keys')
      .set({ expires_at: expiresAt, replaced_by: issued.details.id })
      .where('id', '=', keyId)
      .execute();
    const details = { good_until: expiresAt, replaced_by: issued.details.id, expires_at: issued.details.expiresAt };
    await recordChange(transaction, clock, { action: 'key rotate', partner: old.partner, keyId, details });
    return { issued, replaced: { ...(await getKey(transaction, nowMs, keyId)), keepsEarlierOverlap } };
  });
}

/** The end of validity promised by an earlier rotation; null for a key that was not rotated. */
function findPromisedEnd({ expiresAt, issuedExpiresAt, replacedBy }: KeyDetails): string | null {
  // After a restore the replacing key may be missing, but the shortened lifetime was preserved.
  return replacedBy !== null || expiresAt !== issuedExpiresAt ? expiresAt : null;
}

/**
 * Revokes a key immediately. A key that is already revoked keeps its timestamp.
 *
 * @returns the key, and whether anything changed.
 * @throws AccessError if there is no such key.
 */
export function revokeKey(
  database: Database,
  clock: Clock,
  keyId: string,
): Promise<{ key: KeyDetails; isChanged: boolean }> {
  return inTransaction(database, async (transaction) => {
    await bumpRevision(transaction);
    const nowMs = clock();
    const before = await getKey(transaction, nowMs, keyId);
    if (before.state === 'revoked') return { key: before, isChanged: false };
    await transaction.kysely
      .updateTable('access.keys')
      .set({ revoked_at: formatTimestamp(nowMs) })
      .where('id', '=', keyId)
      .execute();
    await recordChange(transaction, clock, { action: 'key revoke', partner: before.partner, keyId });
    return { key: await getKey(transaction, nowMs, keyId), isChanged: true };
  });
}

/**
 * Keys in order of issue, grouped by partner.
 *
 * @param partnerName null for all partners.
 * @throws AccessError if there is no such partner.
 */
export async function listKeys(database: Database, clock: Clock, partnerName: string | null): Promise<KeyDetails[]> {
  if (partnerName !== null) await getPartnerReference(database, partnerName);
  const rows = await keyRows(database)
    .$if(partnerName !== null, (query) => query.where('partner.name', '=', partnerName))
    .orderBy('partner.name')
    .orderBy('key.created_at')
    .orderBy('key.id')
    .execute();
  const nowMs = clock();
  return rows.map((row) => toDetails(row, nowMs));
}

/** Details of a key by its full text; null if it was not issued here, even if its public ID was. */
export async function findKey(database: Database, clock: Clock, key: string): Promise<KeyDetails | null> {
  const id = parseKey(key)?.id ?? '';
  const row = await keyRows(database)
    .where('key.id', '=', id)
    .where('key.digest', '=', digestOf(key))
    .executeTakeFirst();
  return row === undefined ? null : toDetails(row, clock());
}

async function getKey(database: Database, nowMs: number, keyId: string): Promise<KeyDetails> {
  if (!isKeyId(keyId)) throw notAnId(keyId);
  const row = await keyRows(database).where('key.id', '=', keyId).executeTakeFirst();
  if (row === undefined) throw new AccessError(`there is no key ${keyId}: "pds key list" shows the ids of all keys`);
  return toDetails(row, nowMs);
}

/** Does not repeat the argument, which could be a whole key and end up in a log. */
function notAnId(given: string): AccessError {
  const wholeKey = parseKey(given.trim());
  return new AccessError(
    wholeKey === null
      ? 'a key is named by its public id, the 8 characters after "pds_live_" or "pds_test_": "pds key list" shows them'
      : `give only the public id, ${wholeKey.id}: a whole key has no place on a command line, where others can read it`,
  );
}

async function insertKey(
  transaction: Database,
  nowMs: number,
  partnerName: string,
  environment: KeyEnvironment,
  lifetimeMs: number | null,
): Promise<NewKey> {
  const partner = await getPartnerReference(transaction, partnerName);
  const { key, id, digest } = issueKeyText(environment);
  const expiresAt = lifetimeMs === null ? null : formatTimestamp(nowMs + lifetimeMs);
  await transaction.kysely
    .insertInto('access.keys')
    .values({
      id,
      partner_id: partner.id,
      digest,
      environment,
      created_at: formatTimestamp(nowMs),
      expires_at: expiresAt,
      issued_expires_at: expiresAt,
    })
    .execute();
  return { key, details: await getKey(transaction, nowMs, id) };
}

function keyRows({ kysely }: Database) {
  return kysely
    .selectFrom('access.keys as key')
    .innerJoin('access.partners as partner', 'partner.id', 'key.partner_id')
    .select([
      'key.id',
      'partner.name as partner_name',
      'key.environment',
      'key.created_at',
      'key.expires_at',
      'key.issued_expires_at',
      'key.replaced_by',
      'key.revoked_at',
    ]);
}

type KeyListRow = Awaited<ReturnType<ReturnType<typeof keyRows>['execute']>>[number];

function toDetails(row: KeyListRow, nowMs: number): KeyDetails {
  return {
    id: row.id,
    partner: row.partner_name,
    environment: row.environment,
    state: stateAt(row, formatTimestamp(nowMs)),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    issuedExpiresAt: row.issued_expires_at,
    replacedBy: row.replaced_by,
    revokedAt: row.revoked_at,
  };
}

function stateAt(row: KeyListRow, now: string): KeyState {
  if (row.revoked_at !== null) return 'revoked';
  return row.expires_at !== null && row.expires_at <= now ? 'expired' : 'active';
}
