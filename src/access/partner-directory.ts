import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Environment } from '../config.ts';
import type { Database } from '../database/database.ts';
import { formatInstant, type Clock } from '../instant.ts';
import { DEMO_KEY_ID } from './demo-key.ts';
import { hasDigest, keyEnvironmentOf, parseKey } from './keys.ts';
import { loadByKeyId, loadPartner, readAccessVersion, type KnownKey } from './partner-records.ts';
import type { Partner } from './scope.ts';

/** Half of the second within which a change has to take effect; the other half is for the read itself. */
const POLL_INTERVAL_MS = 500;

/** How long keys known before stay good while the database cannot be read. */
const GRACE_MS = 30_000;

/** Keys remembered at once. Only keys that exist are, so that guesses cannot push them out. */
const REMEMBERED_KEYS = 10_000;

export interface PartnerDirectoryOptions {
  readonly database: Database;
  readonly environment: Environment;
  /** For partners that have no number of their own. */
  readonly requestsPerMinute: number;
  readonly clock: Clock;
  readonly logger?: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Finds the partner behind a key. What it has read it remembers, filed under the version of
 * `access.clock` that the same statement read; a newer version there, looked for twice a
 * second, makes all of it be read again. So a revoked key, a suspension or a changed grant
 * takes effect within a second, on a replica or behind PgBouncer too.
 */
export class PartnerDirectory {
  readonly #options: PartnerDirectoryOptions;
  readonly #known = new LRUCache<string, KnownKey>({ max: REMEMBERED_KEYS });
  #version = 0;
  #versionReadAtMs = Number.NEGATIVE_INFINITY;
  #isReachable = true;
  #isStarted = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PartnerDirectoryOptions) {
    this.#options = options;
  }

  /**
   * Reads the version for the first time, and from then on twice a second until `stop()`.
   * Without it nothing is remembered.
   *
   * @throws what the database throws where it cannot be read.
   */
  async start(): Promise<void> {
    this.#isStarted = true;
    await this.#readVersion();
    this.#pollLater();
  }

  /** Ends the polling. What is remembered is good for no more than the time of grace. */
  stop(): void {
    this.#isStarted = false;
    clearTimeout(this.#timer);
  }

  /**
   * The partner that a key belongs to, suspended or not, and the key's public id.
   *
   * @returns null for a key that is malformed, unknown, revoked, expired or of another environment.
   * @throws what the database throws where the key is not known from before.
   */
  async findByKey(key: string): Promise<{ partner: Partner; keyId: string } | null> {
    const { environment, clock } = this.#options;
    const parsed = parseKey(key);
    if (parsed?.environment !== keyEnvironmentOf(environment)) return null;
    // Everyone knows this key: a database that was filled in `dev` must not open with it elsewhere.
    if (parsed.id === DEMO_KEY_ID && environment !== 'dev') return null;
    const found = this.#remembered(parsed.id) ?? (await this.#load(parsed.id));
    if (found === null || !hasDigest(key, found.digest) || found.environment !== parsed.environment) return null;
    if (found.revokedAt !== null) return null;
    if (found.expiresAt !== null && found.expiresAt <= formatInstant(clock())) return null;
    return { partner: found.partner, keyId: parsed.id };
  }

  /**
   * The partner as the database has it now, for a query that found the scope it was given to be stale.
   *
   * @returns null where there is no such partner.
   */
  async refresh(partnerId: number): Promise<Partner | null> {
    const loaded = await loadPartner(this.#options.database, partnerId, this.#options.requestsPerMinute);
    if (loaded === null) return null;
    this.#noticeVersion(loaded.version);
    return loaded.partner;
  }

  #remembered(keyId: string): KnownKey | null {
    const age = this.#options.clock() - this.#versionReadAtMs;
    // A clock that stepped back says nothing about the age.
    if (age < 0 || age > GRACE_MS) return null;
    const known = this.#known.get(keyId);
    return known?.version === this.#version ? known : null;
  }

  async #load(keyId: string): Promise<KnownKey | null> {
    const loaded = await loadByKeyId(this.#options.database, keyId, this.#options.requestsPerMinute);
    if (loaded === null) {
      this.#known.delete(keyId);
      return null;
    }
    this.#known.set(keyId, loaded);
    this.#noticeVersion(loaded.version);
    return loaded;
  }

  /** A look-up may see a change before the next poll does; one that was overtaken must not undo that. */
  #noticeVersion(version: number): void {
    if (version > this.#version) this.#version = version;
  }

  async #readVersion(): Promise<void> {
    // Taken before the read: a read that hangs for seconds tells how things stood when it began.
    const askedAtMs = this.#options.clock();
    // Not only when it is greater: a database restored from a backup has a smaller one.
    this.#version = await readAccessVersion(this.#options.database);
    this.#versionReadAtMs = askedAtMs;
  }

  #pollLater(): void {
    if (!this.#isStarted) return;
    this.#timer = setTimeout(() => void this.#poll(), POLL_INTERVAL_MS).unref();
  }

  async #poll(): Promise<void> {
    const { logger } = this.#options;
    try {
      await this.#readVersion();
      if (!this.#isReachable) logger?.info('the version of partners and keys can be read again');
      this.#isReachable = true;
    } catch (error) {
      // Logged once for an outage, not twice a second.
      if (this.#isReachable && this.#isStarted) {
        logger?.warn({ err: error }, 'the version of partners and keys cannot be read; known keys stay good for 30 s');
      }
      this.#isReachable = false;
    }
    this.#pollLater();
  }
}
