import type pg from 'pg';
import type { ReadSource, ServerState } from '../database.ts';
import type { ServerPool } from './server-pool.ts';
import { numberOf, type Revision } from '../revision.ts';
import type { ReadResult, ReadStatement } from './text-rows.ts';

/** A replica and its last known state. */
interface Replica {
  readonly pool: ServerPool;
  /** The revision of `access.clock` last read from it; null before the first response and after a failure. */
  revision: Revision | null;
  /** The newest revision seen both on it and on the primary: it has every change up to there. */
  sharedRevision: Revision | null;
}

/** A revision of the primary. */
interface SeenRevision {
  readonly revision: Revision;
  /** In `performance.now()` milliseconds. */
  readonly seenAtMs: number;
}

/** Enough for an hour of changes twice a second; then every other one is forgotten. */
const MAX_SEEN = 8_192;

/** Replaced by a new object whenever the newest revision changes, so that a read overtaken by another can tell. */
interface Newest {
  /** Null while unknown: then no replica is used. */
  readonly revision: Revision | null;
}

/**
 * Routes reads, round-robin, to the replicas known to be at the newest revision read from the primary; to the primary
 * if there are none. If a replica responds at another revision or fails (replication can cancel its queries), the
 * primary runs the statement instead. So a replica's response is no staler than a cached one can be.
 *
 * Revisions are compared for equality only: a replica of a replaced primary can have a greater number and hold lost
 * changes.
 */
export class ReadRouter {
  readonly #primary: ServerPool;
  readonly #replicas: readonly Replica[];
  #newest: Newest = { revision: null };
  /** Revisions of the primary, in the order in which they were seen. */
  #seen: SeenRevision[] = [];
  #nextIndex = 0;

  constructor(primary: ServerPool, replicas: readonly ServerPool[]) {
    this.#primary = primary;
    this.#replicas = replicas.map((pool) => ({ pool, revision: null, sharedRevision: null }));
  }

  /** Runs a read-only statement. A `revision` in its first row must be that of `access.clock`. */
  async query(statement: ReadStatement, source: ReadSource): Promise<ReadResult> {
    const replica = source === 'any' ? this.#choose() : null;
    if (replica !== null) {
      try {
        const result = await replica.pool.query(statement);
        if (this.#isCurrentIn(replica, result)) return result;
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
    for (const replica of this.#replicas) void this.#readReplica(replica);
    const revision = await this.#primary.readRevision();
    this.#setNewest(revision, before);
    return revision;
  }

  /** A client has seen newer data: bypasses the replicas until the primary's revision has been read again. */
  bypassReplicas(): void {
    this.#newest = { revision: null };
  }

  /** All servers, the primary first. */
  servers(): ServerState[] {
    const inUse = this.#current();
    const primary = { name: 'primary', isReplica: false, isInUse: inUse.length === 0, lagMs: 0 };
    const replicas = this.#replicas.map((replica) => {
      const { pool, revision } = replica;
      const isInUse = inUse.includes(replica);
      const lagMs = isInUse ? 0 : revision === null ? null : this.#lagMsAt(revision);
      return { name: pool.name, isReplica: true, isInUse, lagMs, connections: pool.state };
    });
    return [{ ...primary, connections: this.#primary.state }, ...replicas];
  }

  async close(): Promise<void> {
    await Promise.all([this.#primary, ...this.#replicas.map(({ pool }) => pool)].map((pool) => pool.close()));
  }

  /** Milliseconds since the primary was first seen with a later revision than this one of a replica. */
  #lagMsAt(revision: Revision): number {
    const last = this.#seen.at(-1);
    if (last === undefined || last.revision === revision) return 0;
    // A replica of a replaced primary can have a greater number.
    const later = this.#seen.find((seen) => numberOf(seen.revision) > numberOf(revision)) ?? last;
    return performance.now() - later.seenAtMs;
  }

  #choose(): Replica | null {
    const current = this.#current();
    this.#nextIndex += 1;
    return current[this.#nextIndex % current.length] ?? null;
  }

  #current(): Replica[] {
    return this.#replicas.filter((replica) => this.#isCurrent(replica));
  }

  #isCurrent({ revision, sharedRevision }: Replica): boolean {
    const newest = this.#newest.revision;
    if (revision === null || newest === null) return false;
    // The last changes before the primary went down may have reached the replica but not this process.
    return revision === newest || (sharedRevision === newest && !this.#primary.state.isCircuitClosed);
  }

  #setRevision(replica: Replica, revision: Revision | null): void {
    replica.revision = revision;
    if (revision !== null && revision === this.#newest.revision) replica.sharedRevision = revision;
  }

  #isCurrentIn(replica: Replica, result: pg.QueryResult): boolean {
    const revision = revisionOf(result);
    if (revision === null) return true;
    this.#setRevision(replica, revision);
    return this.#isCurrent(replica);
  }

  /**
   * Makes a revision read from the primary the newest, unless another was learned since the read began.
   *
   * @param before the newest when the read began.
   */
  #setNewest(revision: Revision | null, before: Newest): void {
    if (revision === null || this.#newest !== before || revision === before.revision) return;
    this.#newest = { revision };
    this.#remember(revision);
    for (const replica of this.#replicas) this.#setRevision(replica, replica.revision);
  }

  #remember(revision: Revision): void {
    const last = this.#seen.at(-1)?.revision;
    if (last === revision) return;
    // After a promotion or restore that lost changes, the numbers begin again at a lower one.
    if (last !== undefined && numberOf(revision) <= numberOf(last)) this.#seen = [];
    else if (this.#seen.length >= MAX_SEEN) this.#seen = this.#seen.filter((_, index) => index % 2 === 1);
    this.#seen.push({ revision, seenAtMs: performance.now() });
  }

  async #readReplica(replica: Replica): Promise<void> {
    try {
      this.#setRevision(replica, await replica.pool.readRevision());
    } catch {
      replica.revision = null;
    }
  }
}

function revisionOf({ rows }: pg.QueryResult): Revision | null {
  const revision = (rows[0] as { revision?: unknown } | undefined)?.revision;
  return typeof revision === 'string' ? revision : null;
}
