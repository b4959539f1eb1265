import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Environment } from '../config.ts';
import type { OpenDatabase } from '../database/database.ts';
import { numberOf, type Revision } from '../database/revision.ts';
import type { Clock } from '../timestamp.ts';
import { DEMO_KEY_ID } from './demo-key.ts';
import { digestOf, hasDigest, keyEnvironmentOf, parseKey, type ParsedKey } from './keys.ts';
import { loadByKeyId, loadPartner, type KnownKey } from './partner-records.ts';
import type { Partner } from './scope.ts';

/**
 * Changes must take effect within a second: half of it is the poll interval, the other half is left for the read
 * itself.
 */
const POLL_INTERVAL_MS = 500;

/** Poll interval while the database is down: everything must be fresh well within a second of its return. */
const OUTAGE_POLL_INTERVAL_MS = 250;

/** How long cached keys remain valid while the database cannot be read. */
const GRACE_MS = 30_000;

/** Maximum number of cached keys. Only existing keys are cached, so guesses cannot evict them. */
const REMEMBERED_KEYS = 10_000;

export interface PartnerDirectoryOptions {
  readonly database: OpenDatabase;
  readonly environment: Environment;
  /** Default for partners without a limit of their own. */
  readonly requestsPerMinute: number;
  /** Wall clock, for key expiry. */
  readonly clock: Clock;
  /** Monotonic milliseconds, for ages: the wall clock can be set forward and back. */
  readonly now?: () => number;
  readonly logger?: Pick<Logger, 'info' | 'warn'>;
}

/** The partner behind a key, and the key's public ID. */
export interface FoundPartner {
  readonly partner: Partner;
  readonly keyId: string;
}

/** The database as this process sees it, from polling the revision twice a second. */
export interface DirectoryState {
  /** Whether the last poll succeeded. */
  readonly isReachable: boolean;
  /** Milliseconds since the start of the last successful poll; infinite before the first. */
  readonly versionAgeMs: number;
  /** The number in the revision. */
  readonly version: number;
}

/** A verified key. It remains valid until it expires or another revision is noticed. */
interface GoodKey {
  readonly found: FoundPartner;
  readonly expiresAtMs: number;
}

/**
 * Finds the partner behind a key. Caches what it reads under the revision of `access.clock` that the same statement
 * read. The directory polls the revision twice a second, and a different one invalidates everything cached, whether
 * changes were made or lost. So a revoked key, a suspension or a changed grant takes effect within a second, even on a
 * replica or behind PgBouncer.
 */
export class PartnerDirectory {
  readonly #options: PartnerDirectoryOptions;
  readonly #now: () => number;
  /** By public ID. */
  readonly #known = new LRUCache<string, KnownKey>({ max: REMEMBERED_KEYS });
  /**
   * By digest, which identifies a verified key on its own. Not by the key's text: long-lived memory must not contain
   * keys, in case someone gets to read it.
   */
  readonly #good = new LRUCache<string, GoodKey>({ max: REMEMBERED_KEYS });
  #revision: Revision | null = null;
  #versionReadAtMs = Number.NEGATIVE_INFINITY;
  #isReachable = true;
  #isStarted = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PartnerDirectoryOptions) {
    this.#options = options;
    this.#now = options.now ?? ((): number => performance.now());
  }

  /**
   * Reads the revision, then polls it twice a second until `stop()`. Nothing is cached before `start()`.
   *
   * @throws the database's error if it cannot be read.
   */
  async start(): Promise<void> {
    this.#isStarted = true;
    await this.#readRevision();
    this.#pollLater();
  }

  /** Stops polling. Cached keys remain valid for the grace period only. */
  stop(): void {
    this.#isStarted = false;
    clearTimeout(this.#timer);
  }

  /**
   * The partner that a key belongs to, suspended or not, as of the newest revision known here, and the key's public ID.
   * Synchronous if the key is cached.
   *
   * @returns null for a key that is malformed, unknown, revoked, expired or of another environment.
   * @throws the database's error, as a rejection, if the key is not cached.
   */
  findByKey(key: string): FoundPartner | null | Promise<FoundPartner | null> {
    const good = this.#findGood(key);
    if (good !== null) return this.#unlessExpired(good);

    const { environment } = this.#options;
    const parsed = parseKey(key);
    if (parsed?.environment !== keyEnvironmentOf(environment)) return null;
    // The demo key is public: a database filled in `dev` must not accept it in another environment.
    if (parsed.id === DEMO_KEY_ID && environment !== 'dev') return null;
    const known = this.#remembered(parsed.id);
    if (known !== null) return this.#verify(key, parsed, known);
    return this.#load(parsed.id).then((loaded) => loaded && this.#verify(key, parsed, loaded));
  }

  /** The newest revision of `access.clock` known here; null before the first read. */
  get revision(): Revision | null {
    return this.#revision;
  }

  /** For monitoring. */
  get state(): DirectoryState {
    const versionAgeMs = this.#now() - this.#versionReadAtMs;
    return { isReachable: this.#isReachable, versionAgeMs, version: numberOf(this.#revision ?? '0') };
  }

  /** Like `findByKey`, but only for verified keys in the cache; null for any other key, valid or not. */
  findGoodKey(key: string): FoundPartner | null {
    const good = this.#findGood(key);
    return good === null ? null : this.#unlessExpired(good);
  }

  /**
   * Reloads a partner, for a query that found its scope to be stale.
   *
   * @returns null if there is no such partner.
   */
  async refresh(partnerId: number): Promise<Partner | null> {
    const before = this.#revision;
    const partner = await loadPartner(this.#options.database, partnerId, this.#options.requestsPerMinute);
    if (partner !== null) this.#notice(partner.revision, before);
    return partner;
  }

  #findGood(key: string): GoodKey | null {
    const good = this.#isGraceOver() ? undefined : this.#good.get(digestOf(key));
    return good?.found.partner.revision === this.#revision ? good : null;
  }

  #verify(key: string, { id, environment }: ParsedKey, known: KnownKey): FoundPartner | null {
    if (!hasDigest(key, known.digest) || known.environment !== environment || known.revokedAt !== null) return null;
    const expiresAtMs = known.expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(known.expiresAt);
    const good = { found: { partner: known.partner, keyId: id }, expiresAtMs };
    this.#good.set(known.digest, good);
    return this.#unlessExpired(good);
  }

  #unlessExpired({ found, expiresAtMs }: GoodKey): FoundPartner | null {
    return this.#options.clock() < expiresAtMs ? found : null;
  }

  #remembered(keyId: string): KnownKey | null {
    if (this.#isGraceOver()) return null;
    const known = this.#known.get(keyId);
    return known?.partner.revision === this.#revision ? known : null;
  }

  #isGraceOver(): boolean {
    return this.#now() - this.#versionReadAtMs > GRACE_MS;
  }

  async #load(keyId: string): Promise<KnownKey | null> {
    const { database, requestsPerMinute } = this.#options;
    let before = this.#revision;
    let loaded = await loadByKeyId(database, keyId, requestsPerMinute);
    // Another revision was noticed during the read, so what it returned may be older. A second read begins after that
    // change.
    if (loaded !== null && this.#revision !== before && loaded.partner.revision !== this.#revision) {
      before = this.#revision;
      loaded = await loadByKeyId(database, keyId, requestsPerMinute);
    }
    if (loaded === null) {
      this.#known.delete(keyId);
      return null;
    }
    this.#known.set(keyId, loaded);
    this.#notice(loaded.partner.revision, before);
    return loaded;
  }

  /**
   * Adopts a revision that was read, unless another was noticed since the read began: a lookup can see a change before
   * the next poll does, and a slower read must not undo that. The numbers do not show which is newer: after a promotion
   * or restore that lost changes, the lost revision can have the greater number.
   *
   * @param before the current revision when the read began.
   */
  #notice(revision: Revision, before: Revision | null): void {
    if (this.#revision === before) this.#revision = revision;
  }

  async #readRevision(): Promise<void> {
    // Taken before the read, because a read that hangs for seconds reflects the state when it began.
    const askedAtMs = this.#now();
    const before = this.#revision;
    this.#notice(await this.#options.database.readRevision(), before);
    this.#versionReadAtMs = askedAtMs;
  }

  #pollLater(): void {
    if (!this.#isStarted) return;
    const interval = this.#isReachable ? POLL_INTERVAL_MS : OUTAGE_POLL_INTERVAL_MS;
    this.#timer = setTimeout(() => void this.#poll(), interval).unref();
  }

  async #poll(): Promise<void> {
    const { logger } = this.#options;
    try {
      await this.#readRevision();
      if (!this.#isReachable) logger?.info('the version of partners and keys can be read again');
      this.#isReachable = true;
    } catch (error) {
      // Logged once per outage, not twice a second.
      if (this.#isReachable && this.#isStarted) {
        logger?.warn({ err: error }, 'the version of partners and keys cannot be read; known keys stay good for 30 s');
      }
      this.#isReachable = false;
    }
    this.#pollLater();
  }
}
