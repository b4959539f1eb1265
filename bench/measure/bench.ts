import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startBaselines } from '../candidates/baselines.ts';
import type { RunningCandidate } from '../candidates/candidate.ts';
import { startService, type RunningService } from '../candidates/service.ts';
import { describeMachine } from '../machine/description.ts';
import { readIntoMemory } from '../market/databases.ts';
import { provideMarket } from '../market/market.ts';
import { startPostgres } from '../market/postgres-cluster.ts';
import type { BaseContext, BenchContext, Part, Settings } from './context.ts';
import { note } from './progress.ts';
import { Recorder, type ResultsStore } from './results.ts';

export interface BenchOptions {
  parts: readonly Part[];
  sizes: readonly number[];
  folder: string;
  store: ResultsStore;
  /** Skips parts that were already measured. */
  isResumed: boolean;
  settings: Settings;
  /** Ends the run. */
  signal: AbortSignal;
}

/** Runs the parts at each market size. Servers are started per size and stopped after it. */
export async function runBench(options: BenchOptions): Promise<void> {
  const { store, settings, folder, signal } = options;
  const { isSmoke, ...thoroughness } = settings;
  const postgres = await startPostgres(join(folder, 'postgres'));
  const scratch = join(folder, 'scratch');
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true, mode: 0o755 });
  try {
    store.beginOn(describeMachine(postgres.version));
    for (const size of options.sizes) {
      const isDone = ({ name }: Part): boolean => options.isResumed && store.has(name, size, thoroughness);
      const parts = options.parts.filter((part) => !isDone(part));
      note(`${size} solicitations: ${parts.map(({ name }) => name).join(', ') || 'everything was measured before'}`);
      if (parts.length === 0) continue;
      const base = { settings, postgres, scratch, size, folder, signal };
      const servers = new Servers();
      const market = parts.every(({ needsMarket }) => needsMarket === false)
        ? null
        : await provideMarket({ folder, postgres }, size, settings.engines);
      try {
        for (const part of parts) {
          note(part.title);
          const record = new Recorder({ isSmoke });
          const ownBase: BaseContext = { ...base, record };
          const context = market === null ? null : servers.contextOf({ ...ownBase, market });
          if (await succeeds(part, ownBase, context)) store.put(part.name, size, thoroughness, record);
        }
      } finally {
        await servers.stop();
      }
    }
  } finally {
    await postgres.stop();
  }
}

/** Runs a part. A failure is logged and the other parts still run, except in a smoke run, which it ends. */
async function succeeds(part: Part, base: BaseContext, context: BenchContext | null): Promise<boolean> {
  try {
    if (part.needsMarket === false) await part.run(base);
    else if (context !== null) {
      const { plainUrl, databases } = context.market;
      const services = context.settings.engines.map((engine) => databases[engine].url);
      for (const url of [plainUrl, ...services]) await readIntoMemory(context, url);
      await part.run(context);
    }
    return true;
  } catch (error) {
    if (base.settings.isSmoke || base.signal.aborted) throw error;
    note(`${part.name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exitCode = 1;
    return false;
  }
}

/** Servers shared by the parts, started on first use. */
class Servers {
  #services: RunningService[] | null = null;
  #baselines: RunningCandidate[] | null = null;
  #taken = 0;

  contextOf(base: BaseContext & Pick<BenchContext, 'market'>): BenchContext {
    const { settings, market, scratch } = base;
    const start = (): Promise<RunningService[]> =>
      Promise.all(settings.engines.map((engine) => startService(engine, market.databases[engine], scratch)));
    return {
      ...base,
      services: async () => (this.#services ??= await start()),
      baselines: async () => (this.#baselines ??= await startBaselines(base)),
      stopServers: () => this.stop(),
      takeNumbers: (count) => (this.#taken += count) - count,
    };
  }

  async stop(): Promise<void> {
    for (const server of [...(this.#services ?? []), ...(this.#baselines ?? [])]) await server.stop();
    [this.#services, this.#baselines] = [null, null];
  }
}
