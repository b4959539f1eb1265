import { sql, type RawBuilder } from 'kysely';
import { writeAuditEntry } from '../database/audit.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { appendEvent, lockLog } from '../database/event-log.ts';
import { isOneOf } from '../database/statement.ts';
import { OperatorError } from '../operator-error.ts';
import { formatTimestamp, type Clock } from '../timestamp.ts';
import { checkLabel, digestOf, KEY_ID, issueKeyText, parseKey, type KeyEnvironment } from './keys.ts';
import { formerName, getPartnerRow } from './partner-admin.ts';

/** A key as the operator sees it, without its secret. */
export interface KeyDetails {
  readonly id: string;
  readonly partner: string;
  /** The operator's note of what the key is for; null for none. */
  readonly label: string | null;
  readonly environment: KeyEnvironment;
  readonly state: 'active' | 'expired' | 'revoked';
  readonly createdAt: string;
  /** The first timestamp at which the key is rejected; null for never. */
  readonly expiresAt: string | null;
  /** When the key's original lifetime ends, regardless of rotations; null for never. */
  readonly issuedExpiresAt: string | null;
  /** The public ID of the latest key that replaced this one; null if it was not rotated. */
  readonly replacedBy: string | null;
  readonly revokedAt: string | null;
}

export interface ListedKey extends KeyDetails {
  /** The UTC day of its last request, such as `2026-04-15`; null if no stored usage counts one. */
  readonly lastUsedOn: string | null;
}

/** A newly issued key. Its text is not available again. */
export interface NewKey {
  readonly key: string;
  readonly details: KeyDetails;
}

interface KeyOptions {
  readonly environment: KeyEnvironment;
  /** Null for a key that never expires. */
  readonly lifetimeMs: number | null;
  /** Null or omitted for none. See `checkLabel`. */
  readonly label?: string | null;
}

/** @throws OperatorError if there is no such partner, or the label is refused. */
export async function issueKey(database: Database, clock: Clock, partnerName: string, options: KeyOptions) {
  const { environment, label = null } = options;
  if (label !== null) checkLabel(label);
  return inTransaction(database, async (transaction) => {
    const at = await lockLog(transaction, clock);
    const issued = await insertKey(transaction, clock(), partnerName, options);
    const { id: keyId, expiresAt } = issued.details;
    await appendKeyEvent(transaction, at, partnerName);
    const details = { environment, expires_at: expiresAt, ...(label !== null && { label }) };
    await writeAuditEntry(transaction, clock, { action: 'key issue', partner: partnerName, keyId, details });
    return issued;
  });
}

/**
 * Issues a key that replaces another, with its environment, label and original lifetime. The old key remains valid for
 * the overlap, but not beyond its lifetime. If it was rotated before, it keeps its end, which the partner knows
 * (`keepsEarlierEnd`).
 *
 * @returns also the public IDs of active keys that earlier rotations issued for it, in order of issue.
 * @throws OperatorError if there is no such key, or it is no longer valid.
 */
export function rotateKey(database: Database, clock: Clock, keyId: string, overlapMs: number) {
  return inTransaction(database, async (transaction) => {
    const at = await lockLog(transaction, clock);
    const nowMs = clock();
    const old = await getKey(transaction, nowMs, keyId);
    if (old.state !== 'active') {
      throw new OperatorError(`key ${keyId} is ${old.state}: issue a new one with "pds key issue ${old.partner}"`);
    }
    const { environment, issuedExpiresAt, label } = old;
    const lifetimeMs = issuedExpiresAt === null ? null : Date.parse(issuedExpiresAt) - Date.parse(old.createdAt);
    const issued = await insertKey(transaction, nowMs, old.partner, { environment, lifetimeMs, label });
    const earlierReplacements = await listActiveReplacements(transaction, nowMs, keyId);
    const overlapEnd = formatTimestamp(nowMs + overlapMs);
    const earlierEnd = findEndOfRotation(old);
    const cappedEnd = issuedExpiresAt !== null && issuedExpiresAt < overlapEnd ? issuedExpiresAt : overlapEnd;
    const expiresAt = earlierEnd ?? cappedEnd;
    await transaction.kysely
      .updateTable('access.keys')
      .set({ expires_at: expiresAt, replaced_by: issued.details.id })
      .where('id', '=', keyId)
      .execute();
    await appendKeyEvent(transaction, at, old.partner);
    const details = {
      good_until: expiresAt,
      replaced_by: issued.details.id,
      expires_at: issued.details.expiresAt,
      ...(label !== null && { label }),
    };
    await writeAuditEntry(transaction, clock, { action: 'key rotate', partner: old.partner, keyId, details });
    const replaced = await getKey(transaction, nowMs, keyId);
    return { issued, replaced: { ...replaced, keepsEarlierEnd: earlierEnd !== null, earlierReplacements } };
  });
}

/** The end that an earlier rotation set; null for a key that was not rotated. */
function findEndOfRotation({ expiresAt, issuedExpiresAt, replacedBy }: KeyDetails): string | null {
  // After a restore the replacing key may be missing, but the shortened lifetime was preserved.
  return replacedBy !== null || expiresAt !== issuedExpiresAt ? expiresAt : null;
}

/** The active keys that replaced a key, by ID. It has only the last of them, the audit trail all. */
async function listActiveReplacements(database: Database, nowMs: number, keyId: string): Promise<string[]> {
  const entries = await database.kysely
    .selectFrom('access.audit')
    .select('details')
    .where('action', '=', 'key rotate')
    .where('key_id', '=', keyId)
    .execute();
  const ids = entries.map(({ details }) => (JSON.parse(details) as { replaced_by: string }).replaced_by);
  const keys = await readKeys(database, nowMs, isOneOf(database.engine, sql.ref('key.id'), ids));
  return keys.filter(({ state }) => state === 'active').map(({ id }) => id);
}

/** Revokes a key immediately; a revoked one keeps its timestamp. @throws OperatorError if there is no such key. */
export function revokeKey(database: Database, clock: Clock, keyId: string) {
  return inTransaction(database, async (transaction) => {
    const at = await lockLog(transaction, clock);
    const nowMs = clock();
    const before = await getKey(transaction, nowMs, keyId);
    if (before.state === 'revoked') return { key: before, isChanged: false };
    await transaction.kysely
      .updateTable('access.keys')
      .set({ revoked_at: formatTimestamp(nowMs) })
      .where('id', '=', keyId)
      .execute();
    await appendKeyEvent(transaction, at, before.partner);
    await writeAuditEntry(transaction, clock, { action: 'key revoke', partner: before.partner, keyId });
    return { key: await getKey(transaction, nowMs, keyId), isChanged: true };
  });
}

/**
 * The keys of a partner, or with null of all partners, by partner and in order of issue, with their last use.
 *
 * @throws OperatorError if there is no such partner.
 */
export async function listKeys(database: Database, clock: Clock, partnerName: string | null): Promise<ListedKey[]> {
  const partnerId = partnerName === null ? null : (await getPartnerRow(database, partnerName)).id;
  const lastUses = await readLastUses(database, partnerId);
  const isListed = partnerId === null ? sql`partner.deleted_at is null` : sql`partner.id = ${partnerId}`;
  const keys = await readKeys(database, clock(), isListed);
  return keys.map((key) => ({ ...key, lastUsedOn: lastUses.get(key.id) ?? null }));
}

/** The last day with a request, by key. Scans the usage of all stored days once. */
async function readLastUses({ kysely }: Database, partnerId: number | null): Promise<Map<string, string>> {
  const ofPartner = partnerId === null ? sql`` : sql`where partner_id = ${partnerId}`;
  const { rows } = await sql<{ key_id: string; day: string }>`
    select key_id, max(day) as day from access.usage ${ofPartner} group by key_id`.execute(kysely);
  return new Map(rows.map(({ key_id: keyId, day }) => [keyId, day]));
}

/** Details of a key by its full text; null if it was not issued here, even if its public ID was. */
export async function findKey(database: Database, clock: Clock, key: string): Promise<KeyDetails | null> {
  const isMeant = sql`key.id = ${parseKey(key)?.id ?? ''} and key.digest = ${digestOf(key)}`;
  const [found = null] = await readKeys(database, clock(), isMeant);
  return found;
}

async function getKey(database: Database, nowMs: number, keyId: string): Promise<KeyDetails> {
  if (!KEY_ID.test(keyId)) {
    // Does not repeat the argument, which could be a whole key and end up in a log.
    const wholeKey = parseKey(keyId.trim());
    throw new OperatorError(
      wholeKey === null
        ? 'pass the public id of the key, the 8 characters after "pds_live_" or "pds_test_": "pds key list" shows it'
        : `pass only the public id, ${wholeKey.id}: others can read a whole key on a command line`,
    );
  }
  const [key] = await readKeys(database, nowMs, sql`key.id = ${keyId} and partner.deleted_at is null`);
  if (key === undefined) throw new OperatorError(`there is no key ${keyId}: "pds key list" lists all`);
  return key;
}

async function appendKeyEvent(transaction: Database, at: string, partnerName: string): Promise<void> {
  const { id: partnerId } = await getPartnerRow(transaction, partnerName);
  await appendEvent(transaction, at, { what: 'key', partnerId });
}

async function insertKey(
  transaction: Database,
  nowMs: number,
  partnerName: string,
  { environment, lifetimeMs, label = null }: KeyOptions,
): Promise<NewKey> {
  const { id: partnerId } = await getPartnerRow(transaction, partnerName);
  const { key, id, digest } = issueKeyText(environment);
  const expiresAt = lifetimeMs === null ? null : formatTimestamp(nowMs + lifetimeMs);
  await transaction.kysely
    .insertInto('access.keys')
    .values({
      id,
      partner_id: partnerId,
      digest,
      environment,
      created_at: formatTimestamp(nowMs),
      expires_at: expiresAt,
      issued_expires_at: expiresAt,
      label,
    })
    .execute();
  return { key, details: await getKey(transaction, nowMs, id) };
}

/** The wanted rows `key` with their `partner`, by partner and in order of issue. */
async function readKeys({ kysely }: Database, nowMs: number, isWanted: RawBuilder<unknown>): Promise<KeyDetails[]> {
  const { rows } = await sql<Omit<KeyDetails, 'state'> & { deletedAt: string | null }>`
    select key.id, partner.name as partner, key.label, key.environment, key.created_at as "createdAt",
      key.expires_at as "expiresAt", key.issued_expires_at as "issuedExpiresAt", key.replaced_by as "replacedBy",
      key.revoked_at as "revokedAt", partner.deleted_at as "deletedAt"
    from access.keys as key join access.partners as partner on partner.id = key.partner_id
    where ${isWanted} order by partner.name, key.created_at, key.id`.execute(kysely);
  return rows.map(({ deletedAt, ...key }) => {
    const partner = deletedAt === null ? key.partner : formerName(key.partner);
    return { ...key, partner, state: stateOf(key, nowMs) };
  });
}

function stateOf({ revokedAt, expiresAt }: Omit<KeyDetails, 'state'>, nowMs: number): KeyDetails['state'] {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= formatTimestamp(nowMs) ? 'expired' : 'active';
}
