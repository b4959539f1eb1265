import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { isConnectionLost, isTimeout, reasonOf } from '../database/postgres/postgres-errors.ts';
import type { Output } from './output/output.ts';

/** A cluster replaces a host that is lost in 24 s. */
const MAX_WAIT_MS = 60_000;
const RETRY_MS = 500;

/**
 * Connects a command to PostgreSQL. If there is no primary at the moment, waits for one, with a line that says so.
 *
 * @throws the last error after `maxWaitMs`, and at once any error that another primary would not resolve.
 */
export async function awaitPrimary(
  { engine, kysely }: Database,
  output: Pick<Output, 'note'>,
  maxWaitMs = MAX_WAIT_MS,
): Promise<void> {
  if (engine === 'sqlite') return;
  const startedAtMs = performance.now();
  for (let isNoted = false; ; isNoted = true) {
    try {
      await sql`select 1`.execute(kysely);
      return;
    } catch (error) {
      if (!mayPass(error) || performance.now() - startedAtMs > maxWaitMs) throw error;
      if (!isNoted) output.note(`Waiting up to a minute for a primary of PostgreSQL: ${reasonOf(error)}.`);
      await delay(RETRY_MS);
    }
  }
}

/**
 * Whether a proxy in front of PostgreSQL has no primary, or the server is starting, stopping or silent. A refused connection
 * or an unknown host is more likely a wrong URL.
 */
function mayPass(error: unknown): boolean {
  const { syscall = 'read' } = error as { syscall?: string };
  const isRefused = error instanceof AggregateError || !['read', 'write'].includes(syscall);
  return isTimeout(error) || (isConnectionLost(error) && !isRefused);
}
