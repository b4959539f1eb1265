import type { Database } from '../database/database.ts';

/** What authenticates cursors: made at the first migration and kept in the database, so that every process has the same. */
export async function readCursorSecret({ kysely }: Database): Promise<Buffer> {
  const { value } = await kysely
    .selectFrom('access.settings')
    .select('value')
    .where('name', '=', 'cursor_secret')
    .executeTakeFirstOrThrow();
  return Buffer.from(value, 'hex');
}
