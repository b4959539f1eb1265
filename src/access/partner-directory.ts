import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Environment } from '../config.ts';
import type { OpenDatabase } from '../database/database.ts';
import { recordLoss } from '../database/postgres/timeline.ts';
import { isLost, timestampOf, type Revision } from '../database/revision.ts';
import { DAY_MS, formatTimestamp, type Clock } from '../timestamp.ts';
import { DEMO_KEY_ID, digestOf, hasDigest, keyEnvironmentOf, parseKey, type ParsedKey } from './keys.ts';
import { findStoredKey } from './partner-records.ts';
import type { Partner } from './scope.ts';

/** Changes must take effect within a second: half of it is this interval, the other half is left for the read. */
const POLL_INTERVAL_MS = 500;

/** Poll interval while the database is down: everything must be fresh well within a second of its return. */
const OUTAGE_POLL_INTERVAL_MS = 250;

/** How long cached keys remain valid while the database cannot be read. */
const GRACE_MS = 30_000;

/** Only issued keys are cached, so guesses cannot evict them. */
const MAX_CACHED_KEYS = 10_000;

/** For this long before a key ends, responses to requests with it carry `X-Key-Expires-At`. */
export const EXPIRY_NOTICE_MS = 30 * DAY_MS;

/** The end of a key that has one. */
export interface KeyExpiry {
  readonly expiresAt: string;
  /** From when on responses carry the end: 30 days before it, or from the start of a rotation's overlap. */
  readonly warnFromMs: number;
}

interface PartnerDirectoryOptions {
  readonly database: OpenDatabase;
  readonly environment: Environment;
  /** Default for partners without a limit of their own. */
  readonly requestsPerMinute: number;
  /** Wall clock, for key expiry. */
  readonly clock: Clock;
  /** Monotonic milliseconds, for ages: the wall clock can be set forward and back. */
  readonly now?: () => number;
  readonly logger?: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** The partner behind a key, and the key's public ID. */
export interface FoundPartner {
  readonly partner: Partner;
  readonly keyId: string;
  /** Null for a key without an end. */
  readonly expiry: KeyExpiry | null;
}

/** A key that was issued here, but is revoked or has expired. For the log, never for the response. */
export interface RefusedKey {
  readonly partner: string;
  readonly keyId: string;
  readonly keyState: 'revoked' | 'expired';
}

interface CachedKey {
  readonly owner: FoundPartner;
  /** Minus infinity for a revoked key. */
  readonly expiresAtMs: number;
}

/**
 * Finds the partner behind a key. Caches what it reads under the revision that the same statement read, and polls the
 * revision twice a second: another one invalidates everything, whether changes were made or lost. So a revoked key or a
 * changed grant takes effect within a second, also on a replica or behind PgBouncer.
 */
export class PartnerDirectory {
  readonly #options: PartnerDirectoryOptions;
  readonly #now: () => number;
  /** By digest, not by the key's text: long-lived memory must not contain keys, in case someone gets to read it. */
  readonly #cache = new LRUCache<string, CachedKey>({ max: MAX_CACHED_KEYS });
  #revision: Revision | null = null;
  #revisionReadAtMs = Number.NEGATIVE_INFINITY;
  #isReachable = true;
  /** The revisions before the present one, until a query has shown whether the database still has them. */
  readonly #unverified = new Set<Revision>();
  #losses = 0;
  #isStarted = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PartnerDirectoryOptions) {
    this.#options = options;
    this.#now = options.now ?? ((): number => performance.now());
  }

  /** Reads the revision, then polls it twice a second. Caches nothing before. @throws the database's error. */
  async start(): Promise<void> {
    this.#isStarted = true;
    await this.readRevision();
    this.#pollLater();
  }

  /** Stops polling. Cached keys remain valid for the grace period only. */
  stop(): void {
    this.#isStarted = false;
    clearTimeout(this.#timer);
  }

  /**
   * The partner behind a key, suspended or not, as of the newest revision known here. Synchronous if the key is cached.
   *
   * @returns null for a key that is malformed, unknown, revoked, expired or of another environment.
   * @throws the database's error, as a rejection, if the key is not cached.
   */
  findByKey(key: string): FoundPartner | null | Promise<FoundPartner | null> {
    const cached = this.#findCached(key);
    if (cached !== null) return this.#unlessExpired(cached);
    const { environment } = this.#options;
    const parsed = parseKey(key);
    if (parsed?.environment !== keyEnvironmentOf(environment)) return null;
    // The demo key is public: a database filled in `dev` must not accept it in another environment.
    if (parsed.id === DEMO_KEY_ID && environment !== 'dev') return null;
    return this.#load(key, parsed);
  }

  /** The newest revision known here; null before the first read. */
  get revision(): Revision | null {
    return this.#revision;
  }

  /**
   * The database as this process sees it: whether the last poll succeeded, the milliseconds since the start of the last
   * that did (infinite before), the timestamp of the last event (the epoch before), and how often read changes were lost.
   */
  get state() {
    const revisionAgeMs = this.#now() - this.#revisionReadAtMs;
    const lastEvent = timestampOf(this.#revision ?? '');
    return { isReachable: this.#isReachable, revisionAgeMs, lastEvent, losses: this.#losses };
  }

  /** Like `findByKey`, but only for cached keys; null for any other key, valid or not. */
  findCachedKey(key: string): FoundPartner | null {
    const cached = this.#findCached(key);
    return cached === null ? null : this.#unlessExpired(cached);
  }

  /** Describes a key for which `findByKey` just returned null. */
  describeRefused(key: string): RefusedKey | { keyState: 'unknown' } {
    const cached = this.#cache.get(digestOf(key));
    if (cached === undefined || this.#unlessExpired(cached) !== null) return { keyState: 'unknown' };
    const { partner, keyId } = cached.owner;
    return { partner: partner.name, keyId, keyState: cached.expiresAtMs === -Infinity ? 'revoked' : 'expired' };
  }

  #findCached(key: string): CachedKey | null {
    const isGraceOver = this.#now() - this.#revisionReadAtMs > GRACE_MS;
    const cached = isGraceOver ? undefined : this.#cache.get(digestOf(key));
    return cached?.owner.partner.revision === this.#revision ? cached : null;
  }

  #unlessExpired({ owner, expiresAtMs }: CachedKey): FoundPartner | null {
    return this.#options.clock() < expiresAtMs ? owner : null;
  }

  async #load(key: string, { id, environment }: ParsedKey): Promise<FoundPartner | null> {
    const { database, requestsPerMinute } = this.#options;
    let before = this.#revision;
    let stored = await findStoredKey(database, id, requestsPerMinute);
    // This process read another revision meanwhile, so the result can be older. A second read begins after that change.
    if (stored !== null && this.#revision !== before && stored.partner.revision !== this.#revision) {
      before = this.#revision;
      stored = await findStoredKey(database, id, requestsPerMinute);
    }
    if (stored === null) return null;
    const { partner, digest, expires_at: expiresAt } = stored;
    this.notice(partner.revision, before);
    if (!hasDigest(key, digest) || stored.environment !== environment) return null;
    const endsAtMs = expiresAt === null ? Infinity : Date.parse(expiresAt);
    const warnFromMs = stored.replaced_by === null ? endsAtMs - EXPIRY_NOTICE_MS : -Infinity;
    const owner = { partner, keyId: id, expiry: expiresAt === null ? null : { expiresAt, warnFromMs } };
    const cached = { owner, expiresAtMs: stored.revoked_at === null ? endsAtMs : -Infinity };
    this.#cache.set(digest, cached);
    return this.#unlessExpired(cached);
  }

  /**
   * Adopts a revision that was read, unless another has replaced `before`, the one when the read began: a slower read must
   * not undo it. Timestamps do not show which is newer: after a loss, the lost revision can have the later one.
   */
  notice(revision: Revision, before: Revision | null): void {
    if (this.#revision !== before || revision === before) return;
    if (before !== null) this.#unverified.add(before);
    this.#revision = revision;
  }

  async readRevision(): Promise<void> {
    // Taken before the read, because a read that hangs for seconds reflects the state when it began.
    const startedAtMs = this.#now();
    const before = this.#revision;
    const revision = await this.#options.database.readRevision();
    this.notice(revision, before);
    this.#revisionReadAtMs = startedAtMs;
    for (const replaced of this.#unverified) void this.#reportIfLost(replaced);
  }

  async #reportIfLost(revision: Revision): Promise<void> {
    const { database, logger } = this.#options;
    try {
      const isMissing = await isLost(database.kysely, revision);
      if (!this.#unverified.delete(revision) || !isMissing) return;
      this.#losses += 1;
      logger?.error(
        { revision },
        'CHANGES ARE LOST: the database lacks some that this process had read. Run "pds recover"',
      );
      await recordLoss(database, formatTimestamp(this.#options.clock())).catch((error: unknown) =>
        logger?.warn({ err: error }, 'the loss cannot be recorded: "pds check" may not report it'),
      );
    } catch {
      // The next poll tries again. `pds check` names a missing privilege.
    }
  }

  #pollLater(): void {
    if (!this.#isStarted) return;
    const interval = this.#isReachable ? POLL_INTERVAL_MS : OUTAGE_POLL_INTERVAL_MS;
    this.#timer = setTimeout(() => void this.#poll(), interval).unref();
  }

  async #poll(): Promise<void> {
    const { logger } = this.#options;
    try {
      await this.readRevision();
      if (!this.#isReachable) logger?.info('the database can be polled again');
      this.#isReachable = true;
    } catch (error) {
      // Logged once per outage, not twice a second.
      if (this.#isReachable && this.#isStarted) {
        logger?.warn({ err: error }, 'the database cannot be polled; cached keys remain valid for 30 s');
      }
      this.#isReachable = false;
    }
    this.#pollLater();
  }
}
