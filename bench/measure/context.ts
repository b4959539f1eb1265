import type { RunningCandidate } from '../candidates/candidate.ts';
import type { RunningService } from '../candidates/service.ts';
import type { Engine, Market } from '../market/market.ts';
import type { PostgresCluster } from '../market/postgres-cluster.ts';
import type { ResultsStore } from './results.ts';

/** How thoroughly is measured. */
export interface Settings {
  rounds: number;
  /** Of load, in each round and for each candidate. */
  seconds: number;
  connections: number;
  /** Requests one at a time, for a latency. */
  samples: number;
  engines: readonly Engine[];
  /** Only a quick look whether everything runs: failures count, figures do not. */
  isSmoke: boolean;
}

/** The tools of every part. */
export interface BaseContext {
  settings: Settings;
  store: ResultsStore;
  postgres: PostgresCluster;
  /** Databases and files of the bench. */
  folder: string;
  /** Files that servers read and write while they run. */
  scratch: string;
  /** Solicitations in the market. */
  size: number;
}

/** The tools of a part that uses the market's databases. */
export interface BenchContext extends BaseContext {
  market: Market;
  /** The service on each engine, running. */
  services(): Promise<RunningService[]>;
  /** Baselines and peers over the same tables, running. */
  baselines(): Promise<RunningCandidate[]>;
}

interface PartDescription {
  name: string;
  title: string;
  /** Measured once, on records of its own, this many solicitations among them. */
  ownSize?: number;
  /** In a smoke run only if it is named. */
  isLong?: true;
}

/** A part of the bench: some work, measured on the market of one size. */
export type Part = PartDescription &
  (
    | { needsMarket?: undefined; run(context: BenchContext): Promise<void> }
    // Spares whoever measures only such parts the time to fill the databases of the market.
    | { needsMarket: false; run(context: BaseContext): Promise<void> }
  );
