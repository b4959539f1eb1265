import type { Database } from '../database/database.ts';
import type { IndexChanges } from '../index/index-changes.ts';
import type { FormerSearch } from './former-search.ts';
import type { PlannedKey } from './position-plan.ts';
import type { ProblemList } from './problems.ts';
import type { KeyLines } from './key-lines.ts';
import type { PreparedRecord } from './line-preparer.ts';
import type { NumberedKind, RecordKind } from './records.ts';
import type { References } from './references.ts';

/** What one publication hands through its steps. */
export interface Run {
  /** The transaction of this publication. */
  readonly database: Database;
  /** The number of this publication; its instant is not known before the end. */
  readonly publication: number;
  /** Random, of this publication. */
  readonly token: string;
  readonly problems: ProblemList;
  readonly references: References;
  /** Records that stay, but whose name or text others embed: these are rendered anew. */
  readonly changed: Record<Exclude<RecordKind, 'contracts' | 'solicitations'>, Set<string>>;
  /** The finished NamedRefs that lead entities and coops had before they were renamed, by id. */
  readonly former: Record<'lead-entities' | 'coops', Map<string, string>>;
  /** Suppliers of a refused import, which are not in the database: contracts may name them all the same. */
  readonly assumedSuppliers: Set<string>;
  /** Kinds that held nothing before: their records keep the `updated_at` that they bring. */
  readonly emptyKinds: ReadonlySet<RecordKind>;
  /** The latest `updated_at` that was kept. */
  latestUpdatedAt: string;
  /** What the records of each kind are found by. */
  readonly index: { readonly [K in NumberedKind]: IndexChanges<K> };
  /** The search of the version before, as long as its servers may run. */
  readonly formerSearch: FormerSearch | null;
  /** Positions in a block of the index. */
  readonly blockSize: number;
  /** Awaited once a batch in long loops: lets signals be handled, and throws if the import was interrupted. */
  readonly pause: () => Promise<void>;
}

/** A record with where it came from. */
export interface Entry<K extends RecordKind> {
  readonly line: number;
  readonly key: string;
  /** The row of a new record; null if it is stored, or its kind has no index. */
  readonly row: PlannedKey['row'];
  readonly lineHash: string;
  readonly record: PreparedRecord[K];
  /** Of the record: equal hashes, equal records. */
  readonly hash: string;
  /** The `updated_at` that the line brings. */
  readonly updatedAt: string | null;
}

/** The row that was planned for a record that turned out to be new. */
export function plannedRow({ key, row }: Pick<Entry<RecordKind>, 'key' | 'row'>): NonNullable<PlannedKey['row']> {
  if (row === null) throw new Error(`no row was planned for ${key}`);
  return row;
}

/** The `updated_at` of a record that is stored for the first time: what it brings is kept if its kind held nothing before. */
export function keptUpdatedAt(run: Run, kind: RecordKind, updatedAt: string | null): string | null {
  if (updatedAt === null || !run.emptyKinds.has(kind)) return null;
  if (updatedAt > run.latestUpdatedAt) run.latestUpdatedAt = updatedAt;
  return updatedAt;
}

export interface Counts {
  added: number;
  changed: number;
  unchanged: number;
  removed: number;
}

/** What the publication knows how to do with one kind. */
export interface KindWriter<K extends RecordKind> {
  /**
   * Takes a record as being there that is not written because of problems, so that one
   * problem does not bring a hundred references to nothing with it.
   */
  assume?(key: string): void;
  /** Reports references to nothing. May run where other problems keep anything from being written. */
  check?(entries: readonly Entry<K>[], file: string): Promise<void>;
  /** Reports what only shows when all of a source was checked. */
  checkWhole?(file: string): void;
  /** Writes what is new or changed, and counts. Keys within one call are distinct. */
  write(entries: readonly Entry<K>[]): Promise<Omit<Counts, 'removed'>>;
  /** The keys that are there now. */
  listKeys(): Promise<string[]>;
  /** Of these keys, the ones that another record still names, each with a description of one that does. */
  findReferrers?(keys: readonly string[]): Promise<Map<string, string>>;
  remove(keys: readonly string[]): Promise<void>;
  /** Checks what can only be seen when everything is written. */
  finish?(file: string, lines: KeyLines): Promise<void>;
}
