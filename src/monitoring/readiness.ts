import type { Registry } from 'prom-client';
import type { OpenDatabase } from '../database/database.ts';
import { SchemaVersionError } from '../database/errors.ts';
import { readSchemaState } from '../database/migrator.ts';
import type { ObservedParts } from './observed-parts.ts';
import { waitPatiently } from './patience.ts';
import { registerReadMetric } from './read-metric.ts';

/** Whether a process should be sent requests. */
export interface ReadinessReport {
  /** Why not; none where it is ready. */
  readonly reasons: readonly string[];
  /** What is not as it should be, and keeps nobody from being answered. */
  readonly degradations: readonly string[];
}

/** The version is read twice a second: one that is so old means reads that hang. */
const OLDEST_VERSION_MS = 3_000;

/** How often the schema is looked at, where someone asks: it changes with an upgrade only. */
const SCHEMA_INTERVAL_MS = 10_000;

/** Tells whether this process should be sent requests, from what its parts know already. */
export class Readiness {
  readonly #database: OpenDatabase;
  readonly #parts: ObservedParts;
  #isDraining = false;
  /** What is wrong with the schema; null where nothing is. */
  #schemaProblem: string | null = null;
  #schemaReadAtMs = Number.NEGATIVE_INFINITY;
  #schemaRead: Promise<void> | null = null;

  constructor(database: OpenDatabase, parts: ObservedParts) {
    this.#database = database;
    this.#parts = parts;
  }

  /** From now on it is not: it answers what is in flight, and ends. */
  drain(): void {
    this.#isDraining = true;
  }

  async read(): Promise<ReadinessReport> {
    if (this.#isDraining) return { reasons: [DRAINING], degradations: [] };
    const databaseProblem = this.#databaseProblem();
    // Nobody who cannot be asked for a version can be asked for the schema.
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
    const { sharedLimits, servers } = this.#parts;
    const degradations: string[] = [];
    if (sharedLimits?.isShared === false) {
      degradations.push('Redis does not count requests: each process does, up to its share of each limit');
    }
    for (const { name, isInUse, isReplica, lagMs } of servers?.() ?? []) {
      const why = lagMs === null ? 'does not answer' : 'is behind';
      if (isReplica && !isInUse) degradations.push(`the replica ${name} ${why}, and is not read from`);
    }
    return degradations;
  }

  /** One look at a time, and what was seen before where this one takes long. */
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
      // Where it is the connection that fails, the version will tell.
      if (error instanceof SchemaVersionError) {
        this.#schemaProblem = error.message;
        this.#schemaReadAtMs = performance.now();
      }
    } finally {
      this.#schemaRead = null;
    }
  }
}

/** The reason of a process that is told to end. */
export const DRAINING = 'draining: requests in flight are answered, then the process ends';

/** Tells in a metric what `/readyz` tells. */
export function registerReady(registry: Registry, read: () => Promise<ReadinessReport>): void {
  registerReadMetric(registry, {
    name: 'pds_ready',
    help: 'Whether the service should be sent requests, as /readyz tells it.',
    type: 'gauge',
    read: async () => [{ labels: {}, value: Number((await read()).reasons.length === 0) }],
  });
}
