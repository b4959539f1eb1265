import type { Registry } from 'prom-client';
import type { OpenDatabase } from '../database/database.ts';
import { SchemaVersionError } from '../database/errors.ts';
import { readSchemaState } from '../database/migrator.ts';
import type { ObservedParts } from './observed-parts.ts';
import { waitPatiently } from './patience.ts';
import { registerReadMetric } from './read-metric.ts';

/** Whether a process should receive requests. */
export interface ReadinessReport {
  /** Why it is not ready; empty if it is. */
  readonly reasons: readonly string[];
  /** Problems that do not prevent it from serving requests. */
  readonly degradations: readonly string[];
}

/** The revision is polled twice a second, so one this old means that reads hang. */
const OLDEST_VERSION_MS = 3_000;

/** The schema is checked at most this often, on demand: only an upgrade changes it. */
const SCHEMA_INTERVAL_MS = 10_000;

/** Determines whether this process should receive requests, from what its parts already know. */
export class Readiness {
  readonly #database: OpenDatabase;
  readonly #parts: ObservedParts;
  #isDraining = false;
  /** Problem of the schema; null if there is none. */
  #schemaProblem: string | null = null;
  #schemaReadAtMs = Number.NEGATIVE_INFINITY;
  #schemaRead: Promise<void> | null = null;

  constructor(database: OpenDatabase, parts: ObservedParts) {
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
    // If the revision cannot be read, neither can the schema.
    if (databaseProblem === null) await this.#lookAtSchema();
    const reasons = [databaseProblem, this.#schemaProblem].filter((reason) => reason !== null);
    return { reasons, degradations: this.#degradations() };
  }

  #databaseProblem(): string | null {
    const { isReachable, versionAgeMs } = this.#parts.directory.state;
    if (!isReachable) return 'the database cannot be read';
    if (versionAgeMs <= OLDEST_VERSION_MS) return null;
    return `the database was read ${Math.round(versionAgeMs / 1000)} seconds ago for the last time`;
  }

  #degradations(): string[] {
    const { redisRateLimiter, servers } = this.#parts;
    const degradations: string[] = [];
    if (redisRateLimiter?.isShared === false) {
      degradations.push('Redis does not count requests: each process does, up to its share of each limit');
    }
    for (const { name, isInUse, isReplica, lagMs } of servers?.() ?? []) {
      const why = lagMs === null ? 'does not answer' : 'is behind';
      if (isReplica && !isInUse) degradations.push(`the replica ${name} ${why}, and is not read from`);
    }
    return degradations;
  }

  /** One check at a time. If it takes long, the last result is used. */
  async #lookAtSchema(): Promise<void> {
    if (performance.now() - this.#schemaReadAtMs > SCHEMA_INTERVAL_MS) this.#schemaRead ??= this.#readSchema();
    if (this.#schemaRead === null) return;
    await waitPatiently(this.#schemaRead);
  }

  async #readSchema(): Promise<void> {
    try {
      const { pending } = await readSchemaState(this.#database, 'serve');
      this.#schemaProblem =
        pending.length === 0 ? null : `the schema is older than this version (pending: ${pending.join(', ')})`;
      this.#schemaReadAtMs = performance.now();
    } catch (error) {
      // A failed connection is reported by the revision poll.
      if (error instanceof SchemaVersionError) {
        this.#schemaProblem = error.message;
        this.#schemaReadAtMs = performance.now();
      }
    } finally {
      this.#schemaRead = null;
    }
  }
}

/** The reason reported while shutting down. */
export const DRAINING = 'draining: requests in flight are answered, then the process ends';

/** Exposes the result of `/readyz` as a metric. */
export function registerReady(registry: Registry, read: () => Promise<ReadinessReport>): void {
  registerReadMetric(registry, {
    name: 'pds_ready',
    help: 'Whether the service should be sent requests, as /readyz tells it.',
    type: 'gauge',
    read: async () => [{ labels: {}, value: Number((await read()).reasons.length === 0) }],
  });
}
