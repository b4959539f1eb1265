import type { DatabaseSync } from 'node:sqlite';
import {
  SQLITE_CORRUPT,
  SQLITE_ERROR,
  SQLITE_IOERR,
  SQLITE_NOTADB,
  sqliteCode,
} from '../database/sqlite/sqlite-errors.ts';

/** Errors for a missing table, and for damage, which can show anywhere. */
const UNREADABLE = [SQLITE_ERROR, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB];

/** The cursor secret is created once per database and is the same in every copy of it. */
const IS_SAME_DATABASE = `
  select 1 from main.settings as was join restored.settings as kept on was.value = kept.value
  where was.name = 'cursor_secret' and kept.name = 'cursor_secret'`;

// Not by id: the migration of an older backup has added an entry of its own.
const KEEP_AUDIT = `
  insert into restored.audit (at, actor, action, partner, key_id, details)
  select at, actor, action, partner, key_id, details from main.audit as was
  where not exists (select 1 from restored.audit as kept where kept.at = was.at
    and (kept.actor, kept.action, kept.partner, kept.key_id, kept.details)
      is (was.actor, was.action, was.partner, was.key_id, was.details))
  order by id`;

// Counts only grow, so the later database has the complete ones. An id alone may have been assigned again.
const KEEP_USAGE = `
  insert into restored.usage (day, partner_id, key_id, endpoint, requests, records, limited, failed)
  select day, partner_id, key_id, endpoint, requests, records, limited, failed from main.usage
  where partner_id in (select was.id from main.partners as was join restored.partners as kept
    on was.id = kept.id and was.created_at = kept.created_at)
  on conflict (day, partner_id, key_id, endpoint) do update set
    requests = excluded.requests, records = excluded.records, limited = excluded.limited, failed = excluded.failed`;

/**
 * Copies the audit trail and the usage since the backup into a restored `access` file: those actions did happen.
 *
 * @param connection on the `access` file of the replaced database.
 * @param restoredPath the `access` file of the restored database, with its schema up to date.
 * @returns false if the replaced database cannot be read, or is not the one that was backed up.
 */
export function keepHistory(connection: DatabaseSync, restoredPath: string): boolean {
  connection.prepare('attach ? as restored').run(restoredPath);
  try {
    connection.exec('begin');
    if (connection.prepare(IS_SAME_DATABASE).get() === undefined) return false;
    connection.exec(KEEP_AUDIT);
    connection.exec(KEEP_USAGE);
    connection.exec('commit');
    return true;
  } catch (error) {
    if (UNREADABLE.includes(sqliteCode(error) ?? -1)) return false;
    throw error;
  } finally {
    if (connection.isTransaction) connection.exec('rollback');
    connection.exec('detach restored');
  }
}
