import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

/** HAProxy's check, a poll of the service, and a margin for a busy machine. */
const RECOVERY_MS = 1_000 + 500 + 2_500;

/** When there was no primary behind HAProxy, as a client of PostgreSQL sees it. */
export class PrimaryWatch {
  readonly #outages: { fromMs: number; toMs: number }[] = [];
  readonly #signal: AbortSignal;

  constructor(urls: readonly string[], signal: AbortSignal) {
    this.#signal = signal;
    for (const url of urls) void this.#watch(url);
  }

  /** Whether a request in this time could not reach the primary. */
  excuses(sentMs: number, receivedMs: number): boolean {
    return this.#outages.some(({ fromMs, toMs }) => sentMs < toMs + RECOVERY_MS && receivedMs > fromMs);
  }

  async #watch(url: string): Promise<void> {
    let upMs = performance.now();
    let outage: { fromMs: number; toMs: number } | null = null;
    while (!this.#signal.aborted) {
      const isUp = await isPrimary(url);
      if (isUp) {
        if (outage !== null) outage.toMs = performance.now();
        outage = null;
        upMs = performance.now();
      } else if (outage === null) this.#outages.push((outage = { fromMs: upMs, toMs: Infinity }));
      await delay(100);
    }
  }
}

/** Whether this URL leads to a primary. */
export async function isPrimary(connectionString: string): Promise<boolean> {
  const connection = new pg.Client({ connectionString, connectionTimeoutMillis: 1_000, query_timeout: 1_000 });
  connection.on('error', () => undefined);
  try {
    await connection.connect();
    const { rows } = await connection.query<{ ok: boolean }>('select not pg_is_in_recovery() as ok');
    return rows[0]?.ok === true;
  } catch {
    return false;
  } finally {
    void connection.end().catch(() => undefined);
  }
}
