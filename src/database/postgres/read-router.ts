import type pg from 'pg';
import type { ReadSource, ServerState } from '../database.ts';
import type { ServerPool } from './server-pool.ts';
import type { Revision } from '../revision.ts';

/** For how long the replica is read from without the primary: no longer than cached keys remain valid. */
const MAX_ALONE_MS = 30_000;

/** A replica that was current within this time before the last poll of the primary is taken to follow it, not a lost one. */
const FOLLOWING_MS = 5_000;

/** Replaced by a new object whenever the newest revision changes: a read can detect that another overtook it. */
interface Newest {
  /** Null while unknown: then the replica is not used. */
  readonly revision: Revision | null;
}

/**
 * Routes reads to the replica if it is known to be at the newest revision read from the primary, else to the primary. If
 * the replica responds at another revision or fails (replication can cancel its queries), the primary runs the statement
 * instead. So a replica's response is no staler than a cached one can be.
 *
 * Several replicas can be behind the address: a connection to one that lags is closed. Revisions are compared for
 * equality: a replica of a replaced primary can have a later one and hold lost changes.
 */
export class ReadRouter {
  readonly #primary: ServerPool;
  readonly #replica: ServerPool | null;
  #newest: Newest = { revision: null };
  /** When the last successful poll of the primary began. */
  #polledAtMs = -Infinity;
  /** The revision last read from the replica; null before the first response and after a failure. */
  #replicaRevision: Revision | null = null;
  /** When the replica was last at the primary's revision, in `performance.now()` milliseconds. */
  #currentAtMs = -Infinity;
  /** Milliseconds since the commit of the last transaction that the replica has replayed. */
  #replayAgeMs = Infinity;

  constructor(primary: ServerPool, replica: ServerPool | null) {
    this.#primary = primary;
    this.#replica = replica;
    if (replica !== null) replica.isUnfit = (result) => this.#isBehind(revisionOf(result));
  }

  /** Runs a read-only statement. A `revision` in a row must be that of `access.events`. */
  async query(statement: pg.QueryConfig, source: ReadSource): Promise<pg.QueryResult> {
    if (this.#replica !== null && this.#mayUseReplica(source)) {
      try {
        const result = await this.#replica.query(statement);
        // While the primary is down, something that is not found may have been added just before.
        const isFound = source === 'any' || result.rows.length > 0;
        if (isFound && this.#isCurrentIn(result)) return result;
      } catch {
        // The replica is down, or cancelled the query because it conflicts with replay. The next health probe decides.
        this.#replicaRevision = null;
      }
    }
    const before = this.#newest;
    const result = await this.#primary.query(statement);
    this.#setNewest(revisionOf(result), before);
    return result;
  }

  /** The primary's revision. Also begins to read that of the replica. @throws if the primary does not respond in time. */
  async readRevision(): Promise<Revision> {
    const before = this.#newest;
    const startedAtMs = performance.now();
    if (this.#replica !== null) void this.#probeReplica(this.#replica);
    const { revision } = await this.#primary.probe();
    this.#setNewest(revision, before);
    this.#polledAtMs = startedAtMs;
    return revision;
  }

  /** A client has seen newer data: bypasses the replica until the primary's revision has been read again. */
  bypassReplicas(): void {
    this.#newest = { revision: null };
  }

  servers(): ServerState[] {
    const isInUse = this.#isReplicaCurrent;
    const { state } = this.#primary;
    const primary = { name: 'primary', isReplica: false, isInUse: !isInUse, lagMs: 0, connections: state };
    if (this.#replica === null) return [primary];
    // Under continuous changes, a replica that is a little behind is never current; without any, nothing is replayed.
    const behindMs = Math.min(performance.now() - this.#currentAtMs, this.#replayAgeMs);
    const knownLagMs = this.#replicaRevision === null ? null : behindMs;
    const lagMs = isInUse ? 0 : knownLagMs;
    const { name, state: connections } = this.#replica;
    return [primary, { name, isReplica: true, isInUse, lagMs, connections }];
  }

  async close(): Promise<void> {
    await Promise.all([this.#primary.close(), this.#replica?.close()]);
  }

  get #isPrimaryDown(): boolean {
    return !this.#primary.state.isCircuitClosed;
  }

  get #isReplicaCurrent(): boolean {
    return this.#replicaRevision !== null && this.#replicaRevision === this.#newest.revision;
  }

  #mayUseReplica(source: ReadSource): boolean {
    if (source === 'primary' || (source === 'known' && !this.#isPrimaryDown)) return false;
    return this.#isReplicaCurrent && performance.now() - this.#polledAtMs <= MAX_ALONE_MS;
  }

  /** Whether a server at this revision lacks changes. It affects only which server is read from next. */
  #isBehind(revision: Revision | null): boolean {
    const newest = this.#newest.revision;
    return revision !== null && newest !== null && revision < newest;
  }

  #isCurrentIn(result: pg.QueryResult): boolean {
    const revision = revisionOf(result);
    if (revision === null) return true;
    if (this.#isBehind(revision)) return false;
    this.#setReplicaRevision(revision);
    return revision === this.#newest.revision;
  }

  #setReplicaRevision(revision: Revision): void {
    this.#replicaRevision = revision;
    const newest = this.#newest.revision;
    const mayBeAhead = this.#isPrimaryDown && this.#polledAtMs - this.#currentAtMs < FOLLOWING_MS;
    // The last changes before the primary went down may have reached the replica but not this process.
    if (mayBeAhead && newest !== null && revision > newest) this.#newest = { revision };
    if (revision === this.#newest.revision) this.#currentAtMs = performance.now();
  }

  /** Makes a revision read from the primary the newest, if that is still `before`, as it was when the read began. */
  #setNewest(revision: Revision | null, before: Newest): void {
    if (revision === null || this.#newest !== before || revision === before.revision) return;
    this.#newest = { revision };
  }

  async #probeReplica(replica: ServerPool): Promise<void> {
    try {
      const { revision, replay_age_ms: replayAgeMs } = await replica.probe();
      this.#replayAgeMs = replayAgeMs ?? Infinity;
      this.#setReplicaRevision(revision);
    } catch {
      this.#replicaRevision = null;
    }
  }
}

function revisionOf({ rows }: pg.QueryResult): Revision | null {
  // The head can come after rows that a parallel worker read.
  for (const { revision } of rows as { revision?: unknown }[]) if (typeof revision === 'string') return revision;
  return null;
}
