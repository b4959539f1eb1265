import type pg from 'pg';
import type { ReadSource, ServerState } from './database.ts';
import type { PostgresLink } from './postgres-link.ts';

/** A replica, and how far it is known to have come. */
interface Replica {
  readonly link: PostgresLink;
  /** The version of `access.clock` that was read from it last; null before it answered, and since it failed. */
  version: number | null;
  /** When it was at the newest version the last time. */
  currentAtMs: number;
}

/**
 * Reads from replicas of a primary. Asked is, in turn, each one that is known to be at the
 * newest version that this process knows of, and none else; the primary where there is none. So
 * no answer is older for coming from a replica than a kept one may be, though replicas lag and
 * are cancelled: what one answers at an older version, or not at all, is asked of the primary.
 */
export class ReplicatedReads {
  readonly #primary: PostgresLink;
  readonly #replicas: readonly Replica[];
  /** What a replica must have reached. */
  #newest = 0;
  #turn = 0;
  /** When replicas were last found to be behind: only a version that is asked for later says that they are not. */
  #distrustedAtMs = Number.NEGATIVE_INFINITY;

  constructor(primary: PostgresLink, replicas: readonly PostgresLink[]) {
    this.#primary = primary;
    this.#replicas = replicas.map((link) => ({ link, version: null, currentAtMs: performance.now() }));
  }

  /** Runs a statement that only reads. Where its first row has a `version`, that is the one of `access.clock`. */
  async query(statement: pg.QueryConfig, source: ReadSource): Promise<pg.QueryResult> {
    const replica = source === 'any' ? this.#choose() : null;
    if (replica !== null) {
      try {
        const result = await replica.link.query(statement);
        if (this.#isNewEnough(replica, result)) return result;
      } catch {
        // Away, or it cancelled the query since it conflicts with what it replays. The next pulse tells whether it is back.
        replica.version = null;
      }
    }
    const result = await this.#primary.query(statement);
    this.#newest = Math.max(this.#newest, versionOf(result) ?? 0);
    return result;
  }

  /**
   * The version of the primary. Asks the replicas for theirs as well, without waiting for them.
   *
   * @throws where the primary does not answer in time.
   */
  async readVersion(): Promise<number> {
    const askedAtMs = performance.now();
    for (const replica of this.#replicas) void this.#readReplica(replica);
    const version = await this.#primary.readVersion();
    // Not only where it is greater: a database restored from a backup has a smaller one.
    if (askedAtMs > this.#distrustedAtMs) this.#newest = version;
    return version;
  }

  /** What was read is older than what a client has seen: no replica is asked until the primary's version was read again. */
  distrustReplicas(): void {
    this.#distrustedAtMs = performance.now();
    this.#newest = Infinity;
  }

  /** All servers, the primary first. */
  servers(): ServerState[] {
    const inUse = this.#current();
    const primary = { name: 'primary', isReplica: false, isInUse: inUse.length === 0, lagMs: 0 };
    const replicas = this.#replicas.map((replica) => {
      const { link, version, currentAtMs } = replica;
      const isInUse = inUse.includes(replica);
      const lagMs = isInUse ? 0 : version === null ? null : performance.now() - currentAtMs;
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
    return this.#replicas.filter(({ version }) => version !== null && version >= this.#newest);
  }

  #isNewEnough(replica: Replica, result: pg.QueryResult): boolean {
    const version = versionOf(result);
    if (version === null) return true;
    replica.version = version;
    const isNewEnough = version >= this.#newest;
    // Others may not have come as far yet.
    if (isNewEnough) this.#newest = version;
    return isNewEnough;
  }

  async #readReplica(replica: Replica): Promise<void> {
    try {
      replica.version = await replica.link.readVersion();
      // What the primary was asked for at the same time is not known yet: so it may be by one reading that it is late.
      if (replica.version >= this.#newest) replica.currentAtMs = performance.now();
    } catch {
      replica.version = null;
    }
  }
}

function versionOf({ rows }: pg.QueryResult): number | null {
  const version = (rows[0] as { version?: unknown } | undefined)?.version;
  return typeof version === 'number' ? version : null;
}
