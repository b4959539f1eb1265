import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Environment } from '../config.ts';
import type { OpenDatabase } from '../database/database.ts';
import { numberOf, type Revision } from '../database/revision.ts';
import type { Clock } from '../instant.ts';
import { DEMO_KEY_ID } from './demo-key.ts';
import { digestOf, hasDigest, keyEnvironmentOf, parseKey, type ParsedKey } from './keys.ts';
import { loadByKeyId, loadPartner, type KnownKey } from './partner-records.ts';
import type { Partner } from './scope.ts';

/** Half of the second within which a change has to take effect; the other half is for the read itself. */
const POLL_INTERVAL_MS = 500;

/** While the database is away: all is to be well within a second of its return. */
const OUTAGE_POLL_INTERVAL_MS = 250;

/** How long keys known before stay good while the database cannot be read. */
const GRACE_MS = 30_000;

/** Keys remembered at once. Only keys that exist are, so that guesses cannot push them out. */
const REMEMBERED_KEYS = 10_000;

export interface PartnerDirectoryOptions {
  readonly database: OpenDatabase;
  readonly environment: Environment;
  /** For partners that have no number of their own. */
  readonly requestsPerMinute: number;
  /** The time of day, which keys expire by. */
  readonly clock: Clock;
  /** Milliseconds that only rise, which ages are told by: the time of day may be set forward and back. */
  readonly now?: () => number;
  readonly logger?: Pick<Logger, 'info' | 'warn'>;
}

/** The partner behind a key, and the key's public id. */
export interface FoundPartner {
  readonly partner: Partner;
  readonly keyId: string;
}

/** How the database looks from here, by the revision that is read from it twice a second. */
export interface DirectoryState {
  /** Whether it could be read the last time. */
  readonly isReachable: boolean;
  /** Since it was asked for what was read last; infinite before the first time. */
  readonly versionAgeMs: number;
  /** The number in that revision. */
  readonly version: number;
}

/** A key that was found to be good, and stays so until it expires or another revision is noticed. */
interface GoodKey {
  readonly found: FoundPartner;
  readonly expiresAtMs: number;
}

/**
 * Finds the partner behind a key. Caches what it reads under the revision of
 * `access.clock` that the same statement read; another revision there, looked for twice a
 * second, makes all of it be read again, whether changes came or were lost. So a revoked key, a suspension or a changed grant
 * takes effect within a second, on a replica or behind PgBouncer too.
 */
export class PartnerDirectory {
  readonly #options: PartnerDirectoryOptions;
  readonly #now: () => number;
  /** By public id. */
  readonly #known = new LRUCache<string, KnownKey>({ max: REMEMBERED_KEYS });
  /**
   * By digest. A key that was checked once is found again by its digest alone, which only that
   * key has. Not by its text: what is kept for long must give no key away, whoever comes to see
   * the memory of the process.
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
   * Reads the revision for the first time, and from then on twice a second until `stop()`.
   * Without it nothing is remembered.
   *
   * @throws what the database throws where it cannot be read.
   */
  async start(): Promise<void> {
    this.#isStarted = true;
    await this.#readRevision();
    this.#pollLater();
  }

  /** Ends the polling. What is remembered is good for no more than the time of grace. */
  stop(): void {
    this.#isStarted = false;
    clearTimeout(this.#timer);
  }

  /**
   * The partner that a key belongs to, suspended or not, as of the newest revision that is known
   * here, and the key's public id. At once where the key is remembered.
   *
   * @returns null for a key that is malformed, unknown, revoked, expired or of another environment.
   * @throws what the database throws where the key is not known from before, as a rejection.
   */
  findByKey(key: string): FoundPartner | null | Promise<FoundPartner | null> {
    const good = this.#findGood(key);
    if (good !== null) return this.#unlessExpired(good);

    const { environment } = this.#options;
    const parsed = parseKey(key);
    if (parsed?.environment !== keyEnvironmentOf(environment)) return null;
    // Everyone knows this key: a database that was filled in `dev` must not open with it elsewhere.
    if (parsed.id === DEMO_KEY_ID && environment !== 'dev') return null;
    const known = this.#remembered(parsed.id);
    if (known !== null) return this.#verify(key, parsed, known);
    return this.#load(parsed.id).then((loaded) => loaded && this.#verify(key, parsed, loaded));
  }

  /** The newest revision of `access.clock` that is known here; null before the first was read. */
  get revision(): Revision | null {
    return this.#revision;
  }

  /** For who looks after the service. */
  get state(): DirectoryState {
    const versionAgeMs = this.#now() - this.#versionReadAtMs;
    return { isReachable: this.#isReachable, versionAgeMs, version: numberOf(this.#revision ?? '0') };
  }

  /** The same for a key that was found to be good before; null for any other, which may be good too. */
  findGoodKey(key: string): FoundPartner | null {
    const good = this.#findGood(key);
    return good === null ? null : this.#unlessExpired(good);
  }

  /**
   * The partner as the database has it now, for a query that found the scope it was given to be stale.
   *
   * @returns null where there is no such partner.
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
    // Another revision was noticed while this was read, which may be older. The second read began after that.
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
   * Takes a revision that was read for the current one, unless another was noticed since the read began: a look-up may
   * see a change before the next poll does, and a read that was overtaken must not undo that. Numbers do not tell which
   * is newer: after a promotion or a restore that lost changes, the number of what was lost may be the greater one.
   *
   * @param before the current one when the read began.
   */
  #notice(revision: Revision, before: Revision | null): void {
    if (this.#revision === before) this.#revision = revision;
  }

  async #readRevision(): Promise<void> {
    // Taken before the read: a read that hangs for seconds tells how things stood when it began.
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
      // Logged once for an outage, not twice a second.
      if (this.#isReachable && this.#isStarted) {
        logger?.warn({ err: error }, 'the version of partners and keys cannot be read; known keys stay good for 30 s');
      }
      this.#isReachable = false;
    }
    this.#pollLater();
  }
}
