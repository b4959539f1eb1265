import type { Database } from './database.ts';
import { readStoredSetting, storeSetting } from './rows.ts';

/*
 * When the database was last backed up, for an alert: the service does not know the folder of backups, which can be on
 * another disk. No event belongs to the row, since nothing that services cache depends on it.
 */

const LAST_BACKUP = 'last_backup';

/** Records the time of a complete backup. */
export function noteBackup(database: Database, at: string): Promise<void> {
  return storeSetting(database, LAST_BACKUP, at);
}

/** Null before the first. */
export function findLastBackup(database: Database): Promise<string | null> {
  return readStoredSetting(database, LAST_BACKUP);
}
