import { expect } from 'vitest';
import { publish } from '../../src/publishing/publish.ts';
import { listSources } from '../../src/publishing/read/source.ts';
import { loadModel } from '../model/model.ts';
import { readRecords, type Records } from '../model/records.ts';
import { contract, SMALL_CATALOG, solicitation, withImportDirectory, type ImportLines } from '../support/publishing.ts';
import { startService, type ServingProcess, type TestService } from '../support/service.ts';
import { COOPS, LEAD_ENTITIES, PROCESSES, type Step } from './histories.ts';

const CATALOG = {
  ...SMALL_CATALOG,
  'lead-entities': LEAD_ENTITIES.map((id) => ({ id, name: id })),
  coops: COOPS.map((id) => ({ id, name: id })),
};

/** Later than a client's clock can be ahead, so that no two events are in the leeway of one `updated_since`. */
const TICK_MS = 10_000;
let nowMs = Date.parse('2026-06-01T12:00:00.000Z');
export const clock = (): number => (nowMs += TICK_MS);

/** A catalog that histories change in turn, and the servers of its database. */
export class World {
  readonly service: TestService;
  readonly processes: readonly ServingProcess[];
  readonly releases: string[];
  /** All timestamps from which a watermark can be. */
  readonly events: string[];
  records: Records;
  #added = 0;

  constructor(service: TestService, processes: readonly ServingProcess[]) {
    this.service = service;
    this.processes = processes;
    this.records = loadModel(service.published).records;
    this.releases = service.published.map(({ publishedAt }) => publishedAt);
    this.events = [...this.releases];
  }

  static async start(): Promise<World> {
    return withImportDirectory(CATALOG, async (directory) => {
      const service = await startService({ directories: [directory], clock, isPolling: false, blockSize: 4 });
      const others = Array.from({ length: PROCESSES - 1 }, () => service.startOther());
      return new World(service, [service, ...(await Promise.all(others))]);
    });
  }

  /** Imports a contract and a solicitation, and moves another solicitation to the lead entity. */
  async import({ leadEntity, coop, moved }: Step & { type: 'import' }): Promise<void> {
    const number = (this.#added += 1) + 100;
    const owned = { lead_entity_id: leadEntity };
    const solicitations = [...this.records.solicitations.values()];
    const { publishedAt: _, updatedAt: __, ...other } = solicitations[moved % solicitations.length] ?? expect.fail();
    const lines: ImportLines = {
      contracts: [{ ...contract(`ctr_${number}`), ...owned, coop_id: coop }],
      solicitations: [
        { ...solicitation(`sol_${number}`, number), ...owned },
        ...(other.lead_entity_id === leadEntity ? [] : [{ ...other, ...owned }]),
      ],
    };
    await withImportDirectory(lines, async (path) => {
      const { timestamp } = await publish(this.service.database, await listSources(path), { clock, blockSize: 4 });
      const publishedAt = timestamp ?? expect.fail();
      const added = readRecords([{ path, publishedAt }]);
      this.records = {
        ...this.records,
        contracts: new Map([...this.records.contracts, ...added.contracts]),
        solicitations: new Map([...this.records.solicitations, ...added.solicitations]),
      };
      this.releases.push(publishedAt);
      this.events.push(publishedAt);
    });
  }
}
