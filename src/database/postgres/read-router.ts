import type pg from 'pg';
import type { ReadSource, ServerState } from '../database.ts';
import type { ServerPool } from './server-pool.ts';
import { numberOf, type Revision } from '../revision.ts';

/** A replica, or several behind one address. */
interface Replica {
  readonly pool: ServerPool;
  /** The revision of `access.clock` last read from it; null before the first response and after a failure. */
  revision: Revision | null;
  /** When it was last at the primary's revision, in `performance.now()` milliseconds. */
  currentAtMs: number;
  /** Milliseconds since the commit of the last transaction that it has replayed. */
  replayAgeMs: number;
}

/** For how long replicas are read from without the primary: no longer than cached keys remain valid. */
const MAX_ALONE_MS = 30_000;

/** A replica that was current this long before the last poll of the primary follows it, not another that was lost. */
const FOLLOWING_MS = 5_000;

/** Replaced by a new object whenever the newest revision changes: a read can detect that another overtook it. */
interface Newest {
  /** Null while unknown: then no replica is used. */
  readonly revision: Revision | null;
}

/**
 * Routes reads, round-robin, to the replicas known to be at the newest revision read from the primary; to the primary
 * if there are none. If a replica responds at another revision or fails (replication can cancel its queries), the
 * primary runs the statement instead. So a replica's response is no staler than a cached one can be.
 *
 * Several replicas can be behind one address. A connection to one that lags is closed, so that the next can lead to
 * another. A result without a revision can come from it all the same: such results name the state of the catalog, and
 * are used only with one that has the revision and names the same.
 *
 * Revisions are compared for equality: a replica of a replaced primary can have a greater number and hold lost changes.
 */
export class ReadRouter {
  readonly #primary: ServerPool;
  readonly #replicas: readonly Replica[];
  #newest: Newest = { revision: null };
  #nextIndex = 0;
  /** When the last successful poll of the primary began. */
  #polledAtMs = -Infinity;

  constructor(primary: ServerPool, replicas: readonly ServerPool[]) {
    this.#primary = primary;
    this.#replicas = replicas.map((pool) => ({ pool, revision: null, currentAtMs: -Infinity, replayAgeMs: Infinity }));
    for (const pool of replicas) pool.isUnfit = (result) => this.#isBehind(revisionOf(result));
  }

  /** Runs a read-only statement. A `revision` in its first row must be that of `access.clock`. */
  async query(statement: pg.QueryConfig, source: ReadSource): Promise<pg.QueryResult> {
    const replica = this.#choose(source);
    if (replica !== null) {
      try {
        const result = await replica.pool.query(statement);
        // While the primary is down, something that is not found may have been added just before.
        const isFound = source === 'any' || result.rows.length > 0;
        if (isFound && this.#isCurrentIn(replica, result)) return result;
      } catch {
        // The replica is down, or cancelled the query because it conflicts with replay. The next health probe decides.
        replica.revision = null;
      }
    }
    const before = this.#newest;
    const result = await this.#primary.query(statement);
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
    const { revision } = await this.#primary.probe();
    this.#setNewest(revision, before);
    this.#polledAtMs = startedAtMs;
    return revision;
  }

  /** A client has seen newer data: bypasses the replicas until the primary's revision has been read again. */
  bypassReplicas(): void {
    this.#newest = { revision: null };
  }

  servers(): ServerState[] {
    const inUse = this.#current();
    const primary = { name: 'primary', isReplica: false, isInUse: inUse.length === 0, lagMs: 0 };
    const replicas = this.#replicas.map((replica) => {
      const { pool, revision, currentAtMs, replayAgeMs } = replica;
      const isInUse = inUse.includes(replica);
      // Under continuous changes, a replica that is a little behind is never current; without any, nothing is replayed.
      const lagMs = isInUse ? 0 : revision === null ? null : Math.min(performance.now() - currentAtMs, replayAgeMs);
      return { name: pool.name, isReplica: true, isInUse, lagMs, connections: pool.state };
    });
    return [{ ...primary, connections: this.#primary.state }, ...replicas];
  }

  async close(): Promise<void> {
    await Promise.all([this.#primary, ...this.#replicas.map(({ pool }) => pool)].map((pool) => pool.close()));
  }

  get #isPrimaryDown(): boolean {
    return !this.#primary.state.isCircuitClosed;
  }

  #choose(source: ReadSource): Replica | null {
    if (source === 'primary' || (source === 'known' && !this.#isPrimaryDown)) return null;
    if (performance.now() - this.#polledAtMs > MAX_ALONE_MS) return null;
    const current = this.#current();
    this.#nextIndex += 1;
    return current[this.#nextIndex % current.length] ?? null;
  }

  #current(): Replica[] {
    return this.#replicas.filter(({ revision }) => revision !== null && revision === this.#newest.revision);
  }

  /** Whether a server at this revision lacks changes. It affects only which server is read from next. */
  #isBehind(revision: Revision | null): boolean {
    const newest = this.#newest.revision;
    return revision !== null && newest !== null && numberOf(revision) < numberOf(newest);
  }

  #isCurrentIn(replica: Replica, result: pg.QueryResult): boolean {
    const revision = revisionOf(result);
    if (revision === null) return true;
    if (this.#isBehind(revision)) return false;
    this.#setRevision(replica, revision);
    return revision === this.#newest.revision;
  }

  #setRevision(replica: Replica, revision: Revision): void {
    replica.revision = revision;
    const newest = this.#newest.revision;
    const mayBeAhead = this.#isPrimaryDown && this.#polledAtMs - replica.currentAtMs < FOLLOWING_MS;
    // The last changes before the primary went down may have reached the replica but not this process.
    if (mayBeAhead && newest !== null && numberOf(revision) > numberOf(newest)) this.#newest = { revision };
    if (revision === this.#newest.revision) replica.currentAtMs = performance.now();
  }

  /** Makes a revision read from the primary the newest, if that is still `before`, as it was when the read began. */
  #setNewest(revision: Revision | null, before: Newest): void {
    if (revision === null || this.#newest !== before || revision === before.revision) return;
    this.#newest = { revision };
  }

  async #readReplica(replica: Replica): Promise<void> {
    try {
      const { revision, replay_age_ms: replayAgeMs } = await replica.pool.probe();
      replica.replayAgeMs = replayAgeMs ?? Infinity;
      this.#setRevision(replica, revision);
    } catch {
      replica.revision = null;
    }
  }
}

function revisionOf({ rows }: pg.QueryResult): Revision | null {
  const revision = (rows[0] as { revision?: unknown } | undefined)?.revision;
  return typeof revision === 'string' ? revision : null;
}
