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

/** What a part measures with. */
export interface BenchContext {
  settings: Settings;
  store: ResultsStore;
  postgres: PostgresCluster;
  /** Databases and files of the bench. */
  folder: string;
  /** Files that servers read and write while they run. */
  scratch: string;
  market: Market;
  /** The service on each engine, running. */
  services(): Promise<RunningService[]>;
  /** Baselines and peers over the same tables, running. */
  baselines(): Promise<RunningCandidate[]>;
}

/** A part of the bench: some work, measured on the market of one size. */
export interface Part {
  name: string;
  title: string;
  /** Of the sizes asked for, those that it is worth measuring at. */
  sizes?: 'largest';
  /** Left out of the smoke run. */
  isLong?: true;
  run(context: BenchContext): Promise<void>;
}
