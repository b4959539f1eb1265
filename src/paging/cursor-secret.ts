import type { Database } from '../database/database.ts';

/**
 * The HMAC secret of cursors. The first migration generates it and stores it in the database, so that all processes
 * share it.
 */
export async function readCursorSecret({ kysely }: Database): Promise<Buffer> {
  const { value } = await kysely
    .selectFrom('access.settings')
    .select('value')
    .where('name', '=', 'cursor_secret')
    .executeTakeFirstOrThrow();
  return Buffer.from(value, 'hex');
}
