import type { RunningCandidate } from '../candidates/candidate.ts';
import type { RunningService } from '../candidates/service.ts';
import type { Market } from '../market/market.ts';
import type { PostgresCluster } from '../market/postgres-cluster.ts';
import type { Recorder, Thoroughness } from './results.ts';

export interface Settings extends Thoroughness {
  /** Only checks that everything runs: any failure ends the run, and the figures are meaningless. */
  isSmoke: boolean;
}

/** The context of every part. */
export interface BaseContext {
  settings: Settings;
  record: Recorder;
  postgres: PostgresCluster;
  /** Folder for databases and files, reused between runs. */
  folder: string;
  /** Folder for files that servers read and write while they run; emptied before each run. */
  scratch: string;
  /** Number of solicitations in the market. */
  size: number;
  /** Ends the run. */
  signal: AbortSignal;
}

/** The context of a part that uses the market's databases. */
export interface BenchContext extends BaseContext {
  market: Market;
  /** The running service on each engine; started on first use. */
  services(): Promise<RunningService[]>;
  /** The running baselines and peers over the same records; started on first use. */
  baselines(): Promise<RunningCandidate[]>;
  /** Stops all of these, so that databases can be copied, and the next servers are new. */
  stopServers(): Promise<void>;
  /** Returns the first of `count` numbers that no other part of this run uses, to make requests that are new. */
  takeNumbers(count: number): number;
}

/** A part of the benchmark: work that is measured on a market of one size. */
export type Part = { name: string; title: string } & (
  | { needsMarket?: undefined; run(context: BenchContext): Promise<void> }
  // If all selected parts are of this kind, the market's databases are not filled, which saves time.
  | { needsMarket: false; run(context: BaseContext): Promise<void> }
);

/** The fewer rounds of work that takes long, or whose rounds differ little. */
export function fewRounds({ rounds }: { rounds: number }): number {
  return Math.min(rounds, 3);
}
