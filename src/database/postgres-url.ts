/** Where a PostgreSQL server is, and what stands before it. */
export interface PostgresAddress {
  readonly connectionString: string;
  /**
   * PgBouncer in transaction mode: the server's side of a connection changes with each statement, so that nothing can
   * be set for it or prepared on it. Settings then stand on the role (`pds roles`).
   */
  readonly isPooled: boolean;
}

/** Reads a `postgres://…` URL; `?pgbouncer=true` says that PgBouncer stands before the server. */
export function readPostgresUrl(url: string): PostgresAddress {
  const address = new URL(url);
  const isPooled = address.searchParams.get('pgbouncer') === 'true';
  address.searchParams.delete('pgbouncer');
  return { connectionString: address.href, isPooled };
}
