import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { appendEvent, lockLog } from '../database/event-log.ts';
import type { Clock } from '../timestamp.ts';

/**
 * Draws a release's timestamp, and stores the release. Call it last but for the audit entry: it locks the log, for which
 * keys and grants wait.
 *
 * @param number that of `nextReleaseNumber`.
 * @param after a timestamp that the release's must also exceed.
 */
export async function completeRelease(
  transaction: Database,
  number: number,
  clock: Clock,
  after?: string,
): Promise<string> {
  const at = await lockLog(transaction, clock, after);
  await sql`insert into catalog.releases (number, at) values (${number}, ${at})`.execute(transaction.kysely);
  await appendEvent(transaction, at, { what: 'release', number });
  return at;
}
