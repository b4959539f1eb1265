import pg from 'pg';

/** Creates a pool that survives the loss of its server: without listeners, a lost connection ends the process. */
export function createPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  // The query in flight rejects anyway.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
