import type { RunningCandidate } from '../candidates/candidate.ts';
import type { RunningService } from '../candidates/service.ts';
import type { Engine, Market } from '../market/market.ts';
import type { PostgresCluster } from '../market/postgres-cluster.ts';
import type { ResultsStore } from './results.ts';

/** How thorough the measurements are. */
export interface Settings {
  rounds: number;
  /** Duration of the load per round and candidate. */
  seconds: number;
  connections: number;
  /** Number of requests for a latency, sent one at a time. */
  samples: number;
  engines: readonly Engine[];
  /** Only checks that everything runs: any failure ends the run, and the figures are meaningless. */
  isSmoke: boolean;
}

/** The context of every part. */
export interface BaseContext {
  settings: Settings;
  store: ResultsStore;
  postgres: PostgresCluster;
  /** Folder for databases and files, reused between runs. */
  folder: string;
  /** Folder for files that servers read and write while they run; emptied before each run. */
  scratch: string;
  /** Number of solicitations in the market. */
  size: number;
}

/** The context of a part that uses the market's databases. */
export interface BenchContext extends BaseContext {
  market: Market;
  /** The running service on each engine; started on first use. */
  services(): Promise<RunningService[]>;
  /** The running baselines and peers over the same records; started on first use. */
  baselines(): Promise<RunningCandidate[]>;
}

interface PartDescription {
  name: string;
  title: string;
  /** Measured once, on its own records with this many solicitations, rather than at each market size. */
  ownSize?: number;
  /** Skipped in smoke runs unless named. */
  isLong?: true;
}

/** A part of the benchmark: work that is measured on a market of one size. */
export type Part = PartDescription &
  (
    | { needsMarket?: undefined; run(context: BenchContext): Promise<void> }
    // If all selected parts are of this kind, the market's databases are not filled, which saves time.
    | { needsMarket: false; run(context: BaseContext): Promise<void> }
  );
