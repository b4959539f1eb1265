import type { Database } from '../database/database.ts';
import type { IndexChanges } from '../index/write/index-changes.ts';
import type { ChangeRecorder } from './preview/change-recorder.ts';
import type { ProblemList } from './problems.ts';
import type { ReferenceData } from './write/references.ts';
import type { IndexedKind, Kind, NamedRefKind } from '../kinds.ts';

/** The state that one release passes through its steps. */
export interface ImportContext {
  /** The transaction of this release. */
  readonly database: Database;
  /** The number of this release. Its timestamp is drawn at the end. */
  readonly release: number;
  /** This release's random token. */
  readonly token: string;
  readonly problems: ProblemList;
  readonly referenceData: ReferenceData;
  /** Changed lead entities, coops and city services, which others embed: id → rendered NamedRef before the change. */
  readonly renamed: Record<NamedRefKind, Map<string, string>>;
  /** Certifications whose type changed, and suppliers whose embedded form changed. */
  readonly changed: Record<'certifications' | 'suppliers', Set<string>>;
  /** Kinds that were empty before: their records keep the imported `updated_at`. */
  readonly emptyKinds: ReadonlySet<Kind>;
  /** Imported locations not of the form `City, ST`. */
  locationsWithoutState: number;
  /** The latest imported `updated_at` that was stored. */
  latestUpdatedAt: string;
  /** The changes to each kind's search index. */
  readonly index: { readonly [K in IndexedKind]: IndexChanges<K> };
  /** Records each changed record, for a preview. */
  readonly changes: ChangeRecorder | null;
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
