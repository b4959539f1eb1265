import { expect } from 'vitest';
import { recover } from '../../src/recovery/recover.ts';
import { listKeptReleases, rollback } from '../../src/recovery/rollback.ts';
import { readRecords, type Contract, type Records, type Solicitation, type Supplier } from '../model/records.ts';
import { servedContract, servedSupplier } from '../model/served.ts';
import type { TestDatabase } from '../support/database.ts';
import { publishLines } from '../support/publishing.ts';
import { allOf, differing, recordsOf, startingLines, type Lines } from '../support/records/edited-lines.ts';
import { startService, type ServingProcess, type TestService } from '../support/service.ts';
import { KINDS } from './copy.ts';
import { PROCESSES } from './steps.ts';

const DAY_MS = 86_400_000;

/** Later than a client's clock can be ahead, so that no two events are in the leeway of one `updated_since`. */
const TICK_MS = 10_000;
let nowMs = 0;
const clock = (): number => (nowMs += TICK_MS);

interface Catalog {
  readonly lines: Lines;
  readonly records: Records;
}

/** A replica that the servers read from. */
interface Replica {
  readonly url: string;
  pauseReplay(): Promise<void>;
  resumeReplay(): Promise<void>;
  catchUp(): Promise<void>;
}

/** A catalog that histories change in turn, and the servers of its database. */
export class World {
  readonly clock = clock;
  readonly service: TestService;
  readonly processes: readonly ServingProcess[];
  partners = 0;
  /** After a reset, every client reads everything again. After events were deleted, it may. */
  resets = 0;
  prunes = 0;
  /** Null if all servers read the primary. */
  readonly replica: Replica | null;
  /** The number of responses that servers read behind the primary. */
  behind = 0;
  #isPaused = false;
  #catalog: Catalog = { lines: startingLines(), records: readRecords([]) };
  /** The catalogs of releases and resets, by their number. */
  readonly #published = new Map<number, Catalog>();

  private constructor(service: TestService, processes: readonly ServingProcess[], replica: Replica | null) {
    this.service = service;
    this.processes = processes;
    this.replica = replica;
  }

  static async start(made?: TestDatabase, replica: Replica | null = null): Promise<World> {
    nowMs = Date.parse('2026-06-01T12:00:00.000Z');
    const read = { ...(made && { made }), ...(replica && { replicaUrl: replica.url }) };
    const service = await startService({ clock, isPolling: false, blockSize: 4, ...read });
    const others = Array.from({ length: PROCESSES - 1 }, () => service.startOther());
    return new World(service, [service, ...(await Promise.all(others))], replica);
  }

  /** Makes the replica stop at what it has, or catch up. */
  async pauseOrResume(): Promise<void> {
    this.#isPaused = !this.#isPaused;
    if (this.#isPaused) return this.replica?.pauseReplay();
    await this.replica?.resumeReplay();
    await this.replica?.catchUp();
  }

  get records(): Records {
    return this.#catalog.records;
  }

  /** Imports all lines, or only those that differ, after a change of them. */
  async import(changeLines: (lines: Lines) => Lines, isWhole = true, removalsDays?: number): Promise<void> {
    const { lines: before, records } = this.#catalog;
    const lines = changeLines(structuredClone(before));
    // No record names it, so something is published in any case.
    lines.coops.set('co_last', { id: 'co_last', name: String(nowMs) });
    const { database } = this.service;
    const { timestamp } = await publishLines(database, isWhole ? allOf(lines) : differing(before, lines), {
      clock,
      replace: isWhole,
      allowRemovals: true,
      blockSize: 4,
      ...(removalsDays !== undefined && { removalsDays }),
    });
    const publishedAt = timestamp ?? expect.fail('nothing was published');
    const read = await recordsOf(lines, publishedAt);
    for (const kind of KINDS)
      for (const [id, record] of read[kind]) {
        const former = records[kind].get(id);
        if (former !== undefined && SHOWN[kind](record as never, read) === SHOWN[kind](former as never, records))
          Object.assign(record, { updatedAt: former.updatedAt, publishedAt: former.updatedAt });
      }
    await this.#publish({ lines, records: read });
  }

  /** An import after which no event before it is in the log, but for catalogs that a rollback can go back to. */
  async prune(): Promise<void> {
    nowMs += 2 * DAY_MS;
    this.prunes += 1;
    await this.import((lines) => lines, true, 1);
  }

  async recover(): Promise<void> {
    this.resets += 1;
    await recover(this.service.database, { clock });
    await this.#publish(this.#catalog);
  }

  /** Goes back to a catalog before: on PostgreSQL, which keeps none, by an import of its lines. */
  async rollBack(): Promise<void> {
    const { database } = this.service;
    const [current, ...others] = await listKeptReleases(database, 100);
    const isPossible =
      database.engine === 'sqlite' ? others.filter((one) => one.isKept && one.file !== current?.file) : others;
    const [target] = isPossible.filter(({ release }) => this.#published.has(release));
    const catalog = this.#published.get(target?.release ?? 0);
    if (target === undefined || catalog === undefined) return;
    if (database.engine === 'postgres') return this.import(() => structuredClone(catalog.lines));
    this.resets += 1;
    await rollback(database, { clock, release: target.release });
    await this.#publish(catalog);
  }

  async #publish(catalog: Catalog): Promise<void> {
    this.#catalog = catalog;
    const [current] = await listKeptReleases(this.service.database, 1);
    this.#published.set(current?.release ?? expect.fail('no release'), catalog);
  }
}

/** The part of each record whose change changes `updated_at`. */
const SHOWN = {
  contracts: (one: Contract, all: Records) => JSON.stringify({ ...servedContract(one, all), updated_at: '' }),
  suppliers: (one: Supplier, all: Records) => JSON.stringify({ ...servedSupplier(one, all, 'detail'), updated_at: '' }),
  solicitations: (one: Solicitation) =>
    JSON.stringify({ ...one, ...{ updatedAt: '', publishedAt: '', documents: [], notices: [], questions: [] } }),
};
