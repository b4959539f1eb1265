import type { Database } from '../database/database.ts';
import type { IndexChanges } from '../index/write/index-changes.ts';
import type { ChangeSink } from './preview/record-changes.ts';
import type { LossTally } from './losses.ts';
import type { ProblemList } from './problems.ts';
import type { ReferenceData } from './write/references.ts';
import type { IndexedKind, Kind } from '../kinds.ts';

/** The state that one release passes through its steps. */
export interface ImportContext {
  /** The transaction of this release. */
  readonly database: Database;
  /** The number of this release. Its timestamp is drawn at the end. */
  readonly release: number;
  /** A timestamp before that of the release. */
  readonly startedAt: string;
  readonly problems: ProblemList;
  readonly referenceData: ReferenceData;
  /** The keys of changed records that others can embed, by kind. */
  readonly changed: ReadonlyMap<Kind, Set<string>>;
  /** Kinds that were empty before: their records keep the imported `updated_at`. */
  readonly emptyKinds: ReadonlySet<Kind>;
  /** Imported locations not of the form `City, ST`. */
  locationsWithoutState: number;
  /** The latest imported `updated_at` that was stored. */
  latestUpdatedAt: string;
  readonly losses: LossTally;
  readonly index: { readonly [K in IndexedKind]: IndexChanges<K> };
  /** Null if no preview was requested. */
  readonly changes: ChangeSink | null;
  /** Positions per index block. */
  readonly blockSize: number;
  /** Awaited once per batch in long loops: lets signals be handled, and throws if the import was interrupted. */
  readonly pause: () => Promise<void>;
}

export interface Counts {
  added: number;
  changed: number;
  unchanged: number;
  removed: number;
}
