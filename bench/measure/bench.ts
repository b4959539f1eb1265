import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startBaselines } from '../candidates/baselines.ts';
import type { RunningCandidate } from '../candidates/candidate.ts';
import { startService, type RunningService } from '../candidates/service.ts';
import { describeMachine } from '../machine/description.ts';
import { provideMarket } from '../market/market.ts';
import { startPostgres } from '../market/postgres-cluster.ts';
import type { BenchContext, Part, Settings } from './context.ts';
import { note } from './progress.ts';
import type { ResultsStore } from './results.ts';

export interface BenchOptions {
  parts: readonly Part[];
  sizes: readonly number[];
  folder: string;
  store: ResultsStore;
  /** Folder of an installed server's programs; null for those of the development dependency. */
  postgresPrograms: string | null;
  withPeers: boolean;
  settings: Settings;
}

/** Runs parts on the markets of all sizes, with servers that are started for each size and stopped after it. */
export async function runBench(options: BenchOptions): Promise<void> {
  const { store, settings } = options;
  const postgres = await startPostgres(join(options.folder, 'postgres'), options.postgresPrograms);
  const scratch = join(options.folder, 'scratch');
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true, mode: 0o755 });
  try {
    store.results.machine = describeMachine(postgres.version);
    const { rounds, seconds, connections } = settings;
    store.results.settings = { rounds, seconds, connections };
    for (const size of options.sizes) {
      const parts = options.parts.filter((part) => isWorth(part, size, options));
      if (parts.length === 0) continue;
      const market = await provideMarket(options.folder, postgres, size);
      const servers = new Servers(() =>
        startBaselines({ plainUrl: market.plainUrl, withPeers: options.withPeers, store, scratch }),
      );
      const startServices = (): Promise<RunningService>[] =>
        settings.engines.map((engine) => startService(engine, market.databases[engine], { folder: scratch }));
      const context: BenchContext = {
        ...{ settings, store, postgres, scratch, market, folder: options.folder },
        services: () => servers.services(startServices),
        baselines: () => servers.baselines(),
      };
      try {
        for (const part of parts) {
          note(`${part.title} (${size} solicitations)`);
          store.beginPart(part.name, size);
          await runPart(part, context);
          store.endPart(part.name);
        }
      } finally {
        await servers.stop();
      }
    }
  } finally {
    await postgres.stop();
  }
}

/** A part that fails is reported, and leaves the others to be measured; only in the smoke run it ends everything. */
async function runPart(part: Part, context: BenchContext): Promise<void> {
  try {
    await part.run(context);
  } catch (error) {
    if (context.settings.isSmoke) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    note(`${part.name} failed: ${reason}`);
    context.store.addGap({ part: part.name, candidate: 'the whole part', reason });
  }
}

function isWorth(part: Part, size: number, { sizes, settings }: BenchOptions): boolean {
  if (settings.isSmoke && part.isLong === true) return false;
  return part.sizes !== 'largest' || size === Math.max(...sizes);
}

/** Servers that parts share: each is started when a part first asks for it. */
class Servers {
  #services: RunningService[] | null = null;
  #baselines: RunningCandidate[] | null = null;
  readonly #startBaselines: () => Promise<RunningCandidate[]>;

  constructor(startBaselinesOnce: () => Promise<RunningCandidate[]>) {
    this.#startBaselines = startBaselinesOnce;
  }

  async services(start: () => Promise<RunningService>[]): Promise<RunningService[]> {
    return (this.#services ??= await Promise.all(start()));
  }

  async baselines(): Promise<RunningCandidate[]> {
    return (this.#baselines ??= await this.#startBaselines());
  }

  async stop(): Promise<void> {
    for (const server of [...(this.#services ?? []), ...(this.#baselines ?? [])]) await server.stop();
  }
}
