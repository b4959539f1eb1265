import { sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * Makes PostgreSQL end this transaction within a second of its client's death. By default the server checks the
 * connection only between statements, so a long statement, or one waiting for a lock, would keep all of the
 * transaction's locks.
 */
export async function endWithClient({ engine, kysely }: Database): Promise<void> {
  if (engine === 'postgres') await sql`set local client_connection_check_interval = '1s'`.execute(kysely);
}
