import { rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { sql } from 'kysely';
import type { DatabaseConfig } from '../config.ts';
import { lockCatalog } from '../database/catalog-lock.ts';
import { pathOf } from '../database/configured.ts';
import { lockLog } from '../database/event-log.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { openForCommands } from '../database/open.ts';
import { countRows } from '../database/rows.ts';
import { EPOCH } from '../timestamp.ts';
import { deleteOtherCatalogs } from '../database/sqlite/catalog-files.ts';
import { makeLastFolder } from '../database/sqlite/durable-files.ts';
import { lockFileOf } from '../database/sqlite/file-names.ts';
import { lockReplaced } from '../database/sqlite/replaced-database.ts';

/**
 * Call it before a database is created. The function that it returns removes the database, and its folder if that was
 * missing too, unless the database has been used or another process has it open.
 */
export function discarderOf(config: DatabaseConfig): () => Promise<void> {
  const path = pathOf(config);
  if (path === null) return () => dropUnused(config);
  const removeFolder = makeLastFolder(dirname(resolve(path)));
  return async () => {
    {
      using locked = lockReplaced(path);
      const isUsed = locked.connection?.prepare('select 1 from partners limit 1').get() !== undefined;
      if (isUsed || locked.lastEvent !== EPOCH || locked.isDamaged) return;
      // A process that waits for the lock detects that the file it has opened is gone.
      rmSync(path, { force: true });
      deleteOtherCatalogs(path, new Set());
      rmSync(lockFileOf(path), { force: true });
    }
    removeFolder();
  };
}

async function dropUnused(config: DatabaseConfig): Promise<void> {
  await using database = openForCommands(config);
  await inTransaction(database, async (transaction) => {
    await lockCatalog(transaction, {});
    // Changes of partners, keys and grants begin with this lock.
    await lockLog(transaction, Date.now);
    if (await isUnused(transaction)) await sql`drop schema catalog, access cascade`.execute(transaction.kysely);
  });
}

/** Whether a database has neither partners nor events. */
export async function isUnused(database: Database): Promise<boolean> {
  return (await countRows(database, 'access.partners')) + (await countRows(database, 'access.events')) === 0;
}
