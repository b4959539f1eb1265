import { type OpenDatabase, SchemaVersionError } from '../database/database.ts';
import { readSchemaState } from '../database/migrations/migrator.ts';
import { inTime, type ObservedParts } from './serving-metrics.ts';

export interface ReadinessReport {
  /** Why it is not ready; empty if it is. */
  readonly reasons: readonly string[];
  /** Problems that do not prevent it from serving requests. */
  readonly degradations: readonly string[];
}

/** The revision is polled twice a second, so one this old means that reads hang. */
const MAX_REVISION_AGE_MS = 3_000;

/** Determines whether this process should receive requests, from what its parts already know. */
export class Readiness {
  readonly #database: OpenDatabase;
  readonly #parts: Pick<ObservedParts, 'directory' | 'redisRateLimiter'>;
  #isDraining = false;
  #schemaProblem: string | null = null;
  #schemaRead: Promise<void> | null = null;

  constructor(database: OpenDatabase, parts: Pick<ObservedParts, 'directory' | 'redisRateLimiter'>) {
    this.#database = database;
    this.#parts = parts;
  }

  /** Marks the process as not ready: it finishes requests in flight, then exits. */
  drain(): void {
    this.#isDraining = true;
  }

  async read(): Promise<ReadinessReport> {
    if (this.#isDraining) return { reasons: [DRAINING], degradations: [] };
    const databaseProblem = this.#databaseProblem();
    // If the revision cannot be read, neither can the schema. One check at a time; if it takes long, the last result is used.
    if (databaseProblem === null) await inTime((this.#schemaRead ??= this.#readSchema()));
    const reasons = [databaseProblem, this.#schemaProblem].filter((reason) => reason !== null);
    return { reasons, degradations: this.#degradations() };
  }

  #databaseProblem(): string | null {
    const { isReachable, revisionAgeMs } = this.#parts.directory.state;
    if (!isReachable) return 'the database cannot be read';
    if (revisionAgeMs <= MAX_REVISION_AGE_MS) return null;
    return `the database was last read ${Math.round(revisionAgeMs / 1000)} seconds ago`;
  }

  #degradations(): string[] {
    const degradations: string[] = [];
    if (this.#parts.redisRateLimiter?.isShared === false) {
      degradations.push('Redis does not count requests: each process counts by itself, up to the full limit');
    }
    for (const { name, isInUse, isReplica, lagMs } of this.#database.servers?.() ?? []) {
      const why = lagMs === null ? 'does not respond' : 'is behind';
      if (isReplica && !isInUse) degradations.push(`replica ${name} ${why}, and is not read from`);
    }
    return degradations;
  }

  async #readSchema(): Promise<void> {
    try {
      const { pending } = await readSchemaState(this.#database, 'serve');
      this.#schemaProblem =
        pending.length === 0 ? null : `the schema is older than this version (pending: ${pending.join(', ')})`;
    } catch (error) {
      // A failed connection is reported by the revision poll.
      if (!(error instanceof SchemaVersionError)) return;
      this.#schemaProblem = error.message;
    } finally {
      this.#schemaRead = null;
    }
  }
}

const DRAINING = 'draining: the process completes the requests in flight, then exits';
