import { sql } from 'kysely';
import type { OpenDatabase } from '../database/database.ts';
import { openForServing } from '../database/open.ts';
import { isTlsError, TOO_MANY_CONNECTIONS } from '../database/postgres/postgres-errors.ts';
import { fail, type Finding } from './finding.ts';

/** A busy server can take longer to accept a connection than the second that a request waits. */
const ATTEMPTS = 3;

/**
 * Connects to a PostgreSQL server as the service does, and checks it.
 *
 * @param setting the setting that names the URL.
 * @returns the findings of `look`, or why there is no connection.
 */
export async function onPostgres(
  { about, url, setting }: { about: string; url: string; setting: string },
  look: (database: OpenDatabase) => Promise<Finding[]>,
): Promise<Finding[]> {
  const database = openForServing({ engine: 'postgres', url });
  try {
    try {
      await connect(database);
    } catch (error) {
      const { reason, advice } = explain(error, setting);
      return [fail(about, `connection failed: ${reason}`, advice)];
    }
    return await look(database);
  } finally {
    // Not awaited: a hanging server never acknowledges the close.
    void database.close().catch(() => undefined);
  }
}

async function connect({ kysely }: OpenDatabase): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await sql`select 1`.execute(kysely);
      return;
    } catch (error) {
      if (attempt === ATTEMPTS || !/timeout/i.test(String(error))) throw error;
    }
  }
}

function explain(error: unknown, setting: string): { reason: string; advice: string } {
  // If a name has several addresses, Node throws an AggregateError with one error per address and an empty message.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const reason = first instanceof Error ? first.message : String(first);
  return { reason, advice: adviceOf(first, reason, setting) };
}

/**
 * Advice for errors from the server itself (https://www.postgresql.org/docs/current/errcodes-appendix.html) and for
 * failed connections.
 */
function adviceOf(error: unknown, reason: string, setting: string): string {
  if (error instanceof Error && isTlsError(error)) {
    return (
      `The server must present a certificate for the host in ${setting}, signed by an authority in the file that ` +
      'sslrootcert names.'
    );
  }
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === '28P01' || code === '28000')
    return `Correct the role and password in ${setting}, or allow the role in pg_hba.conf.`;
  if (code === '3D000') return `Create the database with "createdb", or correct its name in ${setting}.`;
  if (code === '42501') return 'Grant the role CONNECT on the database, as "pds roles" does.';
  if (code === TOO_MANY_CONNECTIONS) return 'Raise "max_connections", or connect through PgBouncer.';
  if (reason.includes('unsupported startup parameter')) return `Add ?pgbouncer=true to the URL in ${setting}.`;
  return `Check that the server is running, the host and port in ${setting}, and firewalls on the way.`;
}
