import { sql, type RawBuilder } from 'kysely';
import { writeAuditEntry } from '../database/audit.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { appendEvent, lockLog } from '../database/event-log.ts';
import { formatTimestamp, type Clock } from '../timestamp.ts';
import { parseStoredKinds } from './partner-records.ts';
import { INDEXED_KINDS, type Kind } from '../kinds.ts';
import { OperatorError } from '../operator-error.ts';

// Names are typed into commands and written to logs, so they contain nothing that a shell or a log must quote.
const NAME = /^(?!pds_(?:live|test)_)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** A partner as the operator sees it, without its individual grants. */
export interface PartnerSummary {
  readonly name: string;
  readonly createdAt: string;
  readonly suspendedAt: string | null;
  /** Null if the service's default applies. */
  readonly requestsPerMinute: number | null;
  /** Null for all kinds. */
  readonly kinds: readonly Kind[] | null;
  readonly everythingSince: string | null;
  readonly leadEntityCount: number;
  readonly coopCount: number;
  readonly activeKeyCount: number;
}

/**
 * Creates a partner, which sees nothing unless it is granted `everything`.
 *
 * @throws OperatorError if the name is taken (ignoring case), or is not 1 to 64 of `A-Z a-z 0-9 . _ -` beginning with a
 *   letter or digit, or begins like a key.
 */
export async function createPartner(
  database: Database,
  clock: Clock,
  name: string,
  { everything }: { everything: boolean },
): Promise<void> {
  await inTransaction(database, async (transaction) => {
    const timestamp = await lockLog(transaction, clock);
    await insertPartner(transaction, clock, { name, timestamp, everything });
  });
}

/** Like `createPartner`, at the timestamp that `lockLog` returned. Returns the row ID. */
export async function insertPartner(
  transaction: Database,
  clock: Clock,
  { name, timestamp, everything }: { name: string; timestamp: string; everything: boolean },
): Promise<number> {
  checkPartnerName(name);
  await refuseTakenName(transaction, name);
  const { id } = await transaction.kysely
    .insertInto('access.partners')
    .values({
      name,
      everything_since: everything ? timestamp : null,
      created_at: formatTimestamp(clock()),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await appendEvent(transaction, timestamp, { what: 'scope', partnerId: id, narrows: 'creation' });
  await writeAuditEntry(transaction, clock, { action: 'partner create', partner: name, details: { everything } });
  return id;
}

/** @throws OperatorError for an invalid name; see `createPartner`. */
export function checkPartnerName(name: string): void {
  if (NAME.test(name)) return;
  throw new OperatorError(
    'a partner name is 1 to 64 letters (A-Z, a-z), digits, ".", "_" and "-", begins with a letter or digit, ' +
      'and is not a key',
  );
}

/** Finds a partner by name, ignoring case: names that differ only in case would be confused. */
export async function findPartnerLike({ kysely }: Database, name: string) {
  const { rows } = await sql<{ id: number; name: string }>`
    select id, name from access.partners where lower(name) = ${name.toLowerCase()}`.execute(kysely);
  return rows[0] ?? null;
}

/**
 * @param exceptId a partner that can have the name already.
 * @throws OperatorError if another partner has the name, ignoring case.
 */
export async function refuseTakenName(database: Database, name: string, exceptId?: number): Promise<void> {
  const taken = await findPartnerLike(database, name);
  if (taken === null || taken.id === exceptId) return;
  throw new OperatorError(`a partner named "${taken.name}" already exists: choose another name`);
}

/**
 * Suspends a partner: every request with its keys gets 403 until it is resumed.
 *
 * @returns whether anything changed; a partner that is already suspended keeps its timestamp.
 * @throws OperatorError if there is no such partner.
 */
export function suspendPartner(database: Database, clock: Clock, name: string): Promise<boolean> {
  return changeSuspension(database, clock, name, 'suspend');
}

/** Ends a suspension; otherwise like `suspendPartner`. */
export function resumePartner(database: Database, clock: Clock, name: string): Promise<boolean> {
  return changeSuspension(database, clock, name, 'resume');
}

/**
 * Changes settings; null is the service's default requests per minute, and all kinds. Omitted ones keep their values.
 *
 * @throws OperatorError if there is no such partner.
 */
export async function setPartner(
  database: Database,
  clock: Clock,
  name: string,
  settings: { requestsPerMinute?: number | null; kinds?: readonly Kind[] | null },
): Promise<void> {
  const { requestsPerMinute, kinds } = settings;
  await inTransaction(database, async (transaction) => {
    const timestamp = await lockLog(transaction, clock);
    const { id, ...before } = await getPartnerRow(transaction, name);
    const after = {
      requests_per_minute: requestsPerMinute === undefined ? before.requests_per_minute : requestsPerMinute,
      kinds: kinds === undefined ? before.kinds : (kinds?.join(',') ?? null),
    };
    const changed = (['requests_per_minute', 'kinds'] as const).filter((column) => after[column] !== before[column]);
    if (changed.length === 0) return;
    await transaction.kysely.updateTable('access.partners').set(after).where('id', '=', id).execute();
    if (changed.includes('kinds')) {
      const [some, others] = [feedKinds(before.kinds), feedKinds(after.kinds)];
      const narrows = some.size === others.size && some.isSubsetOf(others) ? null : 'change of kinds';
      await appendEvent(transaction, timestamp, { what: 'scope', partnerId: id, narrows });
    } else await appendEvent(transaction, timestamp, { what: 'partner', partnerId: id });
    const details = Object.fromEntries(changed.map((column) => [column, { from: before[column], to: after[column] }]));
    await writeAuditEntry(transaction, clock, { action: 'partner set', partner: name, details });
  });
}

/**
 * Renames a partner. Its keys, grants, usage and cursors stay; the audit trail keeps the old name in earlier entries.
 *
 * @throws OperatorError if there is no such partner, or the new name is invalid or taken by another partner.
 */
export async function renamePartner(database: Database, clock: Clock, name: string, newName: string): Promise<void> {
  checkPartnerName(newName);
  await inTransaction(database, async (transaction) => {
    const at = await lockLog(transaction, clock);
    const { id } = await getPartnerRow(transaction, name);
    await refuseTakenName(transaction, newName, id);
    if (name === newName) return;
    await transaction.kysely.updateTable('access.partners').set({ name: newName }).where('id', '=', id).execute();
    await appendEvent(transaction, at, { what: 'partner', partnerId: id });
    await writeAuditEntry(transaction, clock, { action: 'partner rename', partner: name, details: { to: newName } });
  });
}

/**
 * Deletes a partner: revokes its keys, removes its grants, and frees its name. Its row stays: no later partner gets its ID
 * and sees its usage, and a restore of an older backup can delete it again.
 *
 * @returns the public IDs of the keys that were active, and the number of grants.
 * @throws OperatorError if there is no such partner.
 */
export function deletePartner(database: Database, clock: Clock, name: string) {
  return inTransaction(database, async (transaction) => {
    const at = await lockLog(transaction, clock);
    const { kysely } = transaction;
    const { id } = await getPartnerRow(transaction, name);
    const deletedAt = formatTimestamp(clock());
    const keys = await kysely
      .updateTable('access.keys')
      .set({ revoked_at: deletedAt })
      .where('partner_id', '=', id)
      .where('revoked_at', 'is', null)
      .returning(['id', 'expires_at'])
      .execute();
    const grants = await kysely.deleteFrom('access.grants').where('partner_id', '=', id).executeTakeFirst();
    await kysely
      .updateTable('access.partners')
      .set({ name: `${name}#${id}`, everything_since: null, deleted_at: deletedAt })
      .where('id', '=', id)
      .execute();
    await appendEvent(transaction, at, { what: 'scope', partnerId: id, narrows: null });
    const active = keys.filter(({ expires_at: expiresAt }) => expiresAt === null || expiresAt > deletedAt);
    const deleted = { endedKeys: active.map((key) => key.id).sort(), grantCount: Number(grants.numDeletedRows) };
    const details = { keys: deleted.endedKeys, grants: deleted.grantCount };
    await writeAuditEntry(transaction, clock, { action: 'partner delete', partner: name, details });
    return deleted;
  });
}

/** The name that a deleted partner had. Not for others: a restore can leave a partner with such a name. */
export function formerName(storedName: string): string {
  return storedName.replace(/#\d+$/, '');
}

/** The kinds in the feed of changes among the stored ones. */
function feedKinds(stored: string | null): Set<Kind> {
  return new Set<Kind>(parseStoredKinds(stored) ?? INDEXED_KINDS).intersection(new Set<Kind>(INDEXED_KINDS));
}

/** @throws OperatorError if there is no partner of that name. */
export async function getPartner(database: Database, clock: Clock, name: string): Promise<PartnerSummary> {
  const [partner] = await listPartners(database, clock, sql`name = ${name}`);
  if (partner === undefined) throw noPartner(name);
  return partner;
}

/** A partner's row, for reads and changes in the same transaction. @throws OperatorError if there is no such partner. */
export async function getPartnerRow({ kysely }: Database, name: string) {
  const rows = kysely.selectFrom('access.partners').selectAll().where('name', '=', name);
  const row = await rows.where('deleted_at', 'is', null).executeTakeFirst();
  if (row === undefined) throw noPartner(name);
  return row;
}

function noPartner(name: string): OperatorError {
  return new OperatorError(
    `there is no partner "${name}": "pds partner list" lists all, "pds partner create" creates one`,
  );
}

function changeSuspension(database: Database, clock: Clock, name: string, change: 'suspend' | 'resume') {
  return inTransaction(database, async (transaction) => {
    const { kysely } = transaction;
    const timestamp = await lockLog(transaction, clock);
    const { id: partnerId, suspended_at: suspendedAt } = await getPartnerRow(transaction, name);
    if ((suspendedAt !== null) === (change === 'suspend')) return false;
    const isComplete = suspendedAt !== null && (await hasMissedReleases(transaction, partnerId, suspendedAt));
    await kysely
      .updateTable('access.partners')
      .set({ suspended_at: change === 'suspend' ? timestamp : null })
      .where('id', '=', partnerId)
      .execute();
    await appendEvent(transaction, timestamp, {
      what: 'scope',
      partnerId,
      narrows: isComplete ? 'resumption' : null,
    });
    await writeAuditEntry(transaction, clock, { action: `partner ${change}`, partner: name });
    return true;
  });
}

/** Whether a release or a reset came since a suspension, or may have: a restore suspends without an event. */
async function hasMissedReleases({ kysely }: Database, partnerId: number, suspendedAt: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 where not exists (
      select 1 from access.events where at = ${suspendedAt} and what = 'scope' and partner_id = ${partnerId})
    union all select 1 where exists (
      select 1 from access.events where partner_id is null and at > ${suspendedAt})`.execute(kysely);
  return rows.length > 0;
}

/** The partners that meet a condition, by default all, in the order of their names. */
export async function listPartners(
  { kysely }: Database,
  clock: Clock,
  isWanted: RawBuilder<unknown> = sql`true`,
): Promise<PartnerSummary[]> {
  const { rows } = await sql<Omit<PartnerSummary, 'kinds'> & { kinds: string | null }>`
    select name, created_at as "createdAt", suspended_at as "suspendedAt", requests_per_minute as "requestsPerMinute",
      kinds, everything_since as "everythingSince",
      (select count(*) from access.grants where partner_id = partner.id and kind = 'lead_entity') as "leadEntityCount",
      (select count(*) from access.grants where partner_id = partner.id and kind = 'coop') as "coopCount",
      (select count(*) from access.keys where partner_id = partner.id and revoked_at is null
        and (expires_at is null or expires_at > ${formatTimestamp(clock())})) as "activeKeyCount"
    from access.partners as partner where deleted_at is null and ${isWanted} order by name`.execute(kysely);
  return rows.map((row) => ({ ...row, kinds: parseStoredKinds(row.kinds) }));
}
