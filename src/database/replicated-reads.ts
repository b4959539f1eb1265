import type pg from 'pg';
import type { ReadSource, ServerState } from './database.ts';
import type { PostgresLink } from './postgres-link.ts';
import type { Revision } from './revision.ts';

/** A replica, and how far it is known to have come. */
interface Replica {
  readonly link: PostgresLink;
  /** The revision of `access.clock` that was read from it last; null before it answered, and since it failed. */
  revision: Revision | null;
  /** The newest revision that it was seen at: the primary had this one too, and had the same changes before it. */
  sharedRevision: Revision | null;
  /** When it was at the newest revision the last time. */
  currentAtMs: number;
}

/** A new object each time that something is learned, so that a read that was overtaken is noticed. */
interface Newest {
  /** Null while it is not known: then no replica is read from. */
  readonly revision: Revision | null;
}

/**
 * Reads from replicas of a primary. Asked is, in turn, each one that is known to be at the
 * newest revision that this process has read from the primary, and none else; the primary where there is none. So
 * no answer is older for coming from a replica than a kept one may be, though replicas lag and
 * are cancelled: what one answers at another revision, or not at all, is asked of the primary.
 *
 * A greater number does not make a replica newer: one that follows a primary that was replaced may
 * hold changes that are lost.
 */
export class ReplicatedReads {
  readonly #primary: PostgresLink;
  readonly #replicas: readonly Replica[];
  #newest: Newest = { revision: null };
  #turn = 0;

  constructor(primary: PostgresLink, replicas: readonly PostgresLink[]) {
    this.#primary = primary;
    this.#replicas = replicas.map((link) => ({
      link,
      revision: null,
      sharedRevision: null,
      currentAtMs: performance.now(),
    }));
  }

  /** Runs a statement that only reads. Where its first row has a `revision`, that is the one of `access.clock`. */
  async query(statement: pg.QueryConfig, source: ReadSource): Promise<pg.QueryResult> {
    const replica = source === 'any' ? this.#choose() : null;
    if (replica !== null) {
      try {
        const result = await replica.link.query(statement);
        if (this.#isCurrentIn(replica, result)) return result;
      } catch {
        // Away, or it cancelled the query since it conflicts with what it replays. The next pulse tells whether it is back.
        replica.revision = null;
      }
    }
    const before = this.#newest;
    const result = await this.#primary.query(statement);
    this.#learn(revisionOf(result), before);
    return result;
  }

  /**
   * The revision of the primary. Asks the replicas for theirs as well, without waiting for them.
   *
   * @throws where the primary does not answer in time.
   */
  async readRevision(): Promise<Revision> {
    const before = this.#newest;
    for (const replica of this.#replicas) void this.#readReplica(replica);
    const revision = await this.#primary.readRevision();
    this.#learn(revision, before);
    return revision;
  }

  /** What was read is older than what a client has seen: no replica is asked until the primary's revision was read again. */
  distrustReplicas(): void {
    this.#newest = { revision: null };
  }

  /** All servers, the primary first. */
  servers(): ServerState[] {
    const inUse = this.#current();
    const primary = { name: 'primary', isReplica: false, isInUse: inUse.length === 0, lagMs: 0 };
    const replicas = this.#replicas.map((replica) => {
      const { link, revision, currentAtMs } = replica;
      const isInUse = inUse.includes(replica);
      const lagMs = isInUse ? 0 : revision === null ? null : performance.now() - currentAtMs;
      return { name: link.name, isReplica: true, isInUse, lagMs, connections: link.state };
    });
    return [{ ...primary, connections: this.#primary.state }, ...replicas];
  }

  async close(): Promise<void> {
    await Promise.all([this.#primary, ...this.#replicas.map(({ link }) => link)].map((link) => link.close()));
  }

  #choose(): Replica | null {
    const current = this.#current();
    this.#turn += 1;
    return current[this.#turn % current.length] ?? null;
  }

  #current(): Replica[] {
    return this.#replicas.filter((replica) => this.#isCurrent(replica));
  }

  #isCurrent({ revision, sharedRevision }: Replica): boolean {
    const newest = this.#newest.revision;
    if (revision === null || newest === null) return false;
    // The last changes of a primary that is down may have reached a replica, and not this process.
    return revision === newest || (sharedRevision === newest && !this.#primary.state.isUp);
  }

  #see(replica: Replica, revision: Revision | null): void {
    replica.revision = revision;
    if (revision !== null && revision === this.#newest.revision) replica.sharedRevision = revision;
  }

  #isCurrentIn(replica: Replica, result: pg.QueryResult): boolean {
    const revision = revisionOf(result);
    if (revision === null) return true;
    this.#see(replica, revision);
    return this.#isCurrent(replica);
  }

  /**
   * Takes a revision that was read from the primary for the newest, unless something was learned since the read began.
   *
   * @param before what was known when the read began.
   */
  #learn(revision: Revision | null, before: Newest): void {
    if (revision === null || this.#newest !== before || revision === before.revision) return;
    this.#newest = { revision };
    for (const replica of this.#replicas) this.#see(replica, replica.revision);
  }

  async #readReplica(replica: Replica): Promise<void> {
    try {
      this.#see(replica, await replica.link.readRevision());
      // What the primary was asked for at the same time is not known yet: so it may be by one reading that it is late.
      if (this.#isCurrent(replica)) replica.currentAtMs = performance.now();
    } catch {
      replica.revision = null;
    }
  }
}

function revisionOf({ rows }: pg.QueryResult): Revision | null {
  const revision = (rows[0] as { revision?: unknown } | undefined)?.revision;
  return typeof revision === 'string' ? revision : null;
}
