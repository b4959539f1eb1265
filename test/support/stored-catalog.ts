import { sql } from 'kysely';
import { lockCatalog } from '../../src/database/catalog-lock.ts';
import { inTransaction, rollBack, type Database, type OpenDatabase } from '../../src/database/database.ts';
import { appendEvent, findLastRelease, listReleases, lockLog } from '../../src/database/event-log.ts';
import { deleteOtherCatalogs, tryImportLock } from '../../src/database/sqlite/catalog-files.ts';
import { catalogPath } from '../../src/database/sqlite/file-names.ts';
import { openDraft } from '../../src/database/sqlite/sqlite.ts';
import { TABLE_OF } from '../../src/kinds.ts';

/** All that is published, and the log, as text. */
export async function publishedText({ kysely }: OpenDatabase): Promise<string> {
  const tables = [...[...Object.values(TABLE_OF), 'releases'].map((table) => `catalog.${table}`), 'access.events'];
  const read = async (table: string) => (await sql<object>`select * from ${sql.table(table)}`.execute(kysely)).rows;
  return JSON.stringify(await Promise.all(tables.map(read)));
}

/**
 * Changes stored records or the index as no command does. On SQLite, whose catalogs never change, the last release names
 * a changed copy afterwards, or a first one does, and an event of a partner, if there is one, makes servers notice it.
 */
export async function changeStored<T>(database: OpenDatabase, work: (stored: Database) => Promise<T>): Promise<T> {
  const { catalogFiles } = database;
  if (catalogFiles === undefined) return work(database);
  const current = catalogFiles.attachCurrent();
  const draft = openDraft(catalogFiles.path, 0, current === null ? null : catalogPath(catalogFiles.path, current));
  try {
    const result = await work(draft.database);
    const file = draft.complete();
    await inTransaction(database, async (transaction) => {
      const { kysely } = transaction;
      const at = await lockLog(transaction, Date.now);
      const last = await findLastRelease(transaction);
      if (last === null) return appendEvent(transaction, at, { what: 'release', number: 1, file, made_from: null });
      await kysely.updateTable('access.events').set({ file }).where('at', '=', last.at).execute();
      const partner = await kysely.selectFrom('access.partners').select('id').limit(1).executeTakeFirst();
      if (partner !== undefined) await appendEvent(transaction, at, { what: 'partner', partnerId: partner.id });
    });
    catalogFiles.attachCurrent();
    const releases = await listReleases(database, Number.MAX_SAFE_INTEGER);
    deleteOtherCatalogs(catalogFiles.path, new Set(releases.flatMap((release) => release.file ?? [])));
    return result;
  } catch (error) {
    draft.discard();
    throw error;
  }
}

/** Takes the lock that an import holds. Returns a function that releases it. */
export async function lockImports(database: OpenDatabase): Promise<() => Promise<void>> {
  const { catalogFiles } = database;
  if (catalogFiles !== undefined) {
    const lock = tryImportLock(catalogFiles.path);
    return async () => lock?.[Symbol.dispose]();
  }
  const transaction = await database.kysely.startTransaction().execute();
  await lockCatalog({ ...database, kysely: transaction }, {});
  return () => rollBack(transaction);
}
