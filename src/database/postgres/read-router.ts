import type pg from 'pg';
import type { ReadSource, ServerState } from '../database.ts';
import type { ServerPool } from './server-pool.ts';
import { numberOf, READ_REVISION, type Revision } from '../revision.ts';
import type { ReadResult, ReadStatement } from './text-rows.ts';

/** A replica, or several behind one address. */
interface Replica {
  readonly pool: ServerPool;
  /** Whether the health probe succeeded the last time. */
  isUp: boolean;
  /** When one of its connections was last at the newest revision, in `performance.now()` milliseconds. */
  currentAtMs: number;
}

/** For how long replicas are read from without the primary: no longer than cached keys remain valid. */
const MAX_ALONE_MS = 30_000;

/** Two intervals of the health probe. */
const IN_USE_MS = 1_000;

/** Replaced by a new object whenever the newest revision changes, so that a read overtaken by another can tell. */
interface Newest {
  /** Null while unknown: then no replica is used. */
  readonly revision: Revision | null;
}

/**
 * Routes reads, round-robin, to replicas at the newest revision read from the primary; to the primary if there are none.
 * If a replica responds at another revision or fails (replication can cancel its queries), the primary runs the
 * statement instead. So a replica's response is no staler than a cached one can be.
 *
 * Behind one address can be several servers, so what one connection returns proves nothing of another: each is asked for
 * its revision before its first statement under a newer one.
 *
 * Revisions are compared for equality only: a replica of a replaced primary can have a greater number and hold lost
 * changes.
 */
export class ReadRouter {
  readonly #primary: ServerPool;
  readonly #replicas: readonly Replica[];
  #newest: Newest = { revision: null };
  /** The last of the primary's revisions at which each connection to a replica was: it has every change up to there. */
  readonly #proven = new WeakMap<pg.PoolClient, Revision>();
  #nextIndex = 0;
  #readAtMs = performance.now();
  #isBypassing = false;

  constructor(primary: ServerPool, replicas: readonly ServerPool[]) {
    this.#primary = primary;
    this.#replicas = replicas.map((pool) => ({ pool, isUp: false, currentAtMs: -Infinity }));
  }

  /** Runs a read-only statement. A `revision` in its first row must be that of `access.clock`. */
  async query(statement: ReadStatement, source: ReadSource): Promise<ReadResult> {
    const isAllowed = source === 'any' || (source === 'known' && !this.#primary.state.isCircuitClosed);
    const replica = isAllowed ? this.#choose() : null;
    const fromReplica = replica && (await this.#queryReplica(replica, statement));
    // While the primary is down, something that is not found may have been added just before.
    if (fromReplica && (source === 'any' || fromReplica.rows.length > 0)) return fromReplica;
    const before = this.#newest;
    const result = await this.#primary.use((client) => this.#primary.run(client, statement));
    this.#setNewest(revisionOf(result), before);
    return result;
  }

  /**
   * The primary's revision. Also starts reading the replicas' revisions, without awaiting them.
   *
   * @throws if the primary does not respond in time.
   */
  async readRevision(): Promise<Revision> {
    const before = this.#newest;
    const startedAtMs = performance.now();
    for (const replica of this.#replicas) void this.#readReplica(replica);
    try {
      const revision = await this.#primary.readRevision();
      this.#setNewest(revision, before);
      this.#readAtMs = startedAtMs;
      this.#isBypassing = false;
      return revision;
    } catch (error) {
      if (startedAtMs - this.#readAtMs > MAX_ALONE_MS) this.bypassReplicas();
      throw error;
    }
  }

  /** A client has seen newer data: bypasses the replicas until the next poll of the primary's revision. */
  bypassReplicas(): void {
    this.#isBypassing = true;
  }

  /** All servers, the primary first. */
  servers(): ServerState[] {
    const nowMs = performance.now();
    const inUse = this.#replicas.filter(({ isUp, currentAtMs }) => isUp && nowMs - currentAtMs < IN_USE_MS);
    const primary = { name: 'primary', isReplica: false, isInUse: inUse.length === 0, lagMs: 0 };
    const replicas = this.#replicas.map((replica) => {
      const { pool, isUp, currentAtMs } = replica;
      const isInUse = inUse.includes(replica);
      // Under continuous changes a replica that is always a little behind is never at the newest revision.
      const lagMs = isInUse ? 0 : isUp ? Math.min(nowMs - currentAtMs, pool.replayAgeMs) : null;
      return { name: pool.name, isReplica: true, isInUse, lagMs, connections: pool.state };
    });
    return [{ ...primary, connections: this.#primary.state }, ...replicas];
  }

  async close(): Promise<void> {
    await Promise.all([this.#primary, ...this.#replicas.map(({ pool }) => pool)].map((pool) => pool.close()));
  }

  #choose(): Replica | null {
    if (this.#isBypassing || this.#newest.revision === null) return null;
    const ready = this.#replicas.filter(({ pool, isUp }) => isUp && pool.hasMore);
    this.#nextIndex += 1;
    return ready[this.#nextIndex % ready.length] ?? null;
  }

  /** @returns null if its server is not at the newest revision, fails, or cancels the statement in favor of replay. */
  async #queryReplica(replica: Replica, statement: ReadStatement): Promise<ReadResult | null> {
    const { pool } = replica;
    return pool
      .use(async (client) => {
        if (this.#proven.get(client) !== this.#newest.revision) {
          const revision = revisionOf(await pool.run(client, { text: READ_REVISION }));
          if (!this.#isCurrent(replica, client, revision)) return null;
        }
        const result = await pool.run(client, statement);
        const revision = revisionOf(result);
        return this.#isCurrent(replica, client, revision) ? result : null;
      })
      .catch(() => null);
  }

  #isCurrent(replica: Replica, client: pg.PoolClient, revision: Revision | null): boolean {
    const newest = this.#newest.revision;
    if (newest === null) return false;
    if (revision !== null && revision !== newest) {
      // The last changes before the primary went down may have reached the replica but not this process. Numbers have an
      // order only in one history: that of the primary, if this connection has been at a revision of it.
      const isLater = numberOf(revision) > numberOf(newest) && this.#proven.has(client) && !replica.pool.isPooled;
      if (!isLater || this.#primary.state.isCircuitClosed) return false;
      this.#newest = { revision };
    }
    if (revision !== null) this.#proven.set(client, revision);
    replica.currentAtMs = performance.now();
    return true;
  }

  /**
   * Makes a revision read from the primary the newest, unless another was learned since the read began.
   *
   * @param before the newest when the read began.
   */
  #setNewest(revision: Revision | null, before: Newest): void {
    if (revision === null || this.#newest !== before || revision === before.revision) return;
    this.#newest = { revision };
  }

  async #readReplica(replica: Replica): Promise<void> {
    const revision = await replica.pool.readRevision().catch(() => null);
    replica.isUp = revision !== null;
    if (replica.isUp && revision === this.#newest.revision) replica.currentAtMs = performance.now();
  }
}

function revisionOf({ rows }: pg.QueryResult): Revision | null {
  const revision = (rows[0] as { revision?: unknown } | undefined)?.revision;
  return typeof revision === 'string' ? revision : null;
}
