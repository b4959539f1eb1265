import type { Database } from '../database/database.ts';
import type { IndexChanges } from '../index/index-changes.ts';
import type { FormerSearch } from './former-search.ts';
import type { PlannedKey } from './position-plan.ts';
import type { ProblemList } from './problems.ts';
import type { KeyLines } from './key-lines.ts';
import type { PreparedRecord } from './line-preparer.ts';
import type { NumberedKind, RecordKind } from './records.ts';
import type { References } from './references.ts';

/** The state that one publication passes through its steps. */
export interface ImportContext {
  /** The transaction of this publication. */
  readonly database: Database;
  /** The number of this publication. Its timestamp is drawn at the end. */
  readonly publication: number;
  /** This publication's random token. */
  readonly token: string;
  readonly problems: ProblemList;
  readonly references: References;
  /** Changed records that others embed: the embedding records are rerendered. */
  readonly changed: Record<Exclude<RecordKind, 'contracts' | 'solicitations'>, Set<string>>;
  /** The rendered NamedRefs of lead entities and coops before they were renamed, by id. */
  readonly former: Record<'lead-entities' | 'coops', Map<string, string>>;
  /** Suppliers not written because the import has problems: contracts can still refer to them. */
  readonly presentSuppliers: Set<string>;
  /** Kinds that were empty before: their records keep the imported `updated_at`. */
  readonly emptyKinds: ReadonlySet<RecordKind>;
  /** The latest imported `updated_at` that was stored. */
  latestUpdatedAt: string;
  /** The changes to each kind's search index. */
  readonly index: { readonly [K in NumberedKind]: IndexChanges<K> };
  /** The previous version's search, as long as its servers may run. */
  readonly formerSearch: FormerSearch | null;
  /** Positions per index block. */
  readonly blockSize: number;
  /** Awaited once per batch in long loops: lets signals be handled, and throws if the import was interrupted. */
  readonly pause: () => Promise<void>;
}

/** A record and its origin. */
export interface Entry<K extends RecordKind> {
  readonly line: number;
  readonly key: string;
  /** The row planned for a new record; null if it is stored, or its kind has no index. */
  readonly row: PlannedKey['row'];
  readonly lineHash: string;
  readonly record: PreparedRecord[K];
  /** Hash of the record: equal hashes mean equal records. */
  readonly hash: string;
  /** The line's `updated_at`. */
  readonly updatedAt: string | null;
}

/**
 * The row planned for a new record.
 *
 * @throws Error if none was planned.
 */
export function plannedRow({ key, row }: Pick<Entry<RecordKind>, 'key' | 'row'>): NonNullable<PlannedKey['row']> {
  if (row === null) throw new Error(`no row was planned for ${key}`);
  return row;
}

/** The `updated_at` to store for a new record: the imported one if its kind was empty before, otherwise null. */
export function importedUpdatedAt(context: ImportContext, kind: RecordKind, updatedAt: string | null): string | null {
  if (updatedAt === null || !context.emptyKinds.has(kind)) return null;
  if (updatedAt > context.latestUpdatedAt) context.latestUpdatedAt = updatedAt;
  return updatedAt;
}

export interface Counts {
  added: number;
  changed: number;
  unchanged: number;
  removed: number;
}

/** How one kind is checked, written and removed. */
export interface RecordWriter<K extends RecordKind> {
  /**
   * Treats a record as present although problems keep it from being written, so that one problem does not cause a
   * hundred dangling references.
   */
  markAsPresent?(key: string): void;
  /** Reports dangling references. Can run even if other problems prevent writing. */
  check?(entries: readonly Entry<K>[], file: string): Promise<void>;
  /** Reports problems that need the whole source. */
  checkWhole?(file: string): void;
  /** Writes new and changed records, and counts them. Keys are distinct within one call. */
  write(entries: readonly Entry<K>[]): Promise<Omit<Counts, 'removed'>>;
  /** All stored keys. */
  listKeys(): Promise<string[]>;
  /** The keys that other records still refer to, each with a description of one such record. */
  findReferrers?(keys: readonly string[]): Promise<Map<string, string>>;
  remove(keys: readonly string[]): Promise<void>;
  /** Reports problems that only show once everything is written. */
  finish?(file: string, lines: KeyLines): Promise<void>;
}
