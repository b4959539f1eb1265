import { sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * Lets PostgreSQL end this transaction within a second of the death of the process that began it.
 * By itself it looks at the connection between statements only, and a long statement, or one that
 * waits for a lock, would go on holding all locks of the transaction.
 */
export async function endWithClient({ engine, kysely }: Database): Promise<void> {
  if (engine === 'postgres') await sql`set local client_connection_check_interval = '1s'`.execute(kysely);
}
