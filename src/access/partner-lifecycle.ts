import { writeAuditEntry } from '../database/audit.ts';
import { appendEvent, lockLog } from '../database/event-log.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { formatTimestamp, type Clock } from '../timestamp.ts';
import { checkPartnerName, getPartnerId, refuseTakenName } from './partner-admin.ts';

/**
 * Renames a partner. Its keys, grants, usage and cursors stay; the audit trail keeps the old name in earlier entries.
 *
 * @throws OperatorError if there is no such partner, or the new name is invalid or taken by another partner.
 */
export async function renamePartner(database: Database, clock: Clock, name: string, newName: string): Promise<void> {
  checkPartnerName(newName);
  await inTransaction(database, async (transaction) => {
    const at = await lockLog(transaction, clock);
    const id = await getPartnerId(transaction, name);
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
    const id = await getPartnerId(transaction, name);
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
