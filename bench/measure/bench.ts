import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startBaselines } from '../candidates/baselines.ts';
import type { RunningCandidate } from '../candidates/candidate.ts';
import { startService, type RunningService } from '../candidates/service.ts';
import { describeMachine } from '../machine/description.ts';
import { provideMarket } from '../market/market.ts';
import { startPostgres } from '../market/postgres-cluster.ts';
import type { BaseContext, BenchContext, Part, Settings } from './context.ts';
import { note } from './progress.ts';
import type { ResultsStore } from './results.ts';

export interface BenchOptions {
  parts: readonly Part[];
  sizes: readonly number[];
  folder: string;
  store: ResultsStore;
  /** Folder with the programs of an installed PostgreSQL; null for those of the development dependency. */
  postgresPrograms: string | null;
  withPeers: boolean;
  settings: Settings;
}

/** Runs the parts at each market size. Servers are started per size and stopped after it. */
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
      const base: BaseContext = { settings, store, postgres, scratch, size, folder: options.folder };
      const servers = new Servers();
      const context = parts.every(({ needsMarket }) => needsMarket === false)
        ? null
        : await marketContext(base, servers, options.withPeers);
      try {
        for (const part of parts) {
          const partSize = part.ownSize ?? size;
          note(`${part.title} (${partSize} solicitations)`);
          store.beginPart(part.name, partSize);
          await runPart(part, base, context);
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

async function marketContext(base: BaseContext, servers: Servers, withPeers: boolean): Promise<BenchContext> {
  const { settings, store, postgres, scratch, folder } = base;
  const market = await provideMarket({ folder, postgres, solicitations: base.size, engines: settings.engines });
  const baselines = { plainUrl: market.plainUrl, withPeers, store, scratch };
  return {
    ...base,
    market,
    services: () =>
      servers.services(() =>
        settings.engines.map((engine) => startService(engine, market.databases[engine], { folder: scratch })),
      ),
    baselines: () => servers.baselines(() => startBaselines(baselines)),
  };
}

/** Runs a part. A failure is reported and the other parts still run, except in a smoke run, which it ends. */
async function runPart(part: Part, base: BaseContext, context: BenchContext | null): Promise<void> {
  try {
    if (part.needsMarket === false) await part.run(base);
    else if (context !== null) await part.run(context);
  } catch (error) {
    if (base.settings.isSmoke) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    note(`${part.name} failed: ${reason}`);
    base.store.addGap({ part: part.name, candidate: 'the whole part', reason });
  }
}

function isWorth(part: Part, size: number, { sizes }: BenchOptions): boolean {
  return part.ownSize === undefined || size === Math.min(...sizes);
}

/** Servers shared by the parts, started on first use. */
class Servers {
  #services: RunningService[] | null = null;
  #baselines: RunningCandidate[] | null = null;

  async services(start: () => Promise<RunningService>[]): Promise<RunningService[]> {
    return (this.#services ??= await Promise.all(start()));
  }

  async baselines(start: () => Promise<RunningCandidate[]>): Promise<RunningCandidate[]> {
    return (this.#baselines ??= await start());
  }

  async stop(): Promise<void> {
    for (const server of [...(this.#services ?? []), ...(this.#baselines ?? [])]) await server.stop();
  }
}
