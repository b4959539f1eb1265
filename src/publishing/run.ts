import type { Database } from '../database/database.ts';
import type { ProblemList } from './problems.ts';
import type { KeyLines } from './key-lines.ts';
import type { PreparedRecord } from './line-preparer.ts';
import type { RecordKind } from './records.ts';
import type { References } from './references.ts';

/** What one publication hands through its steps. */
export interface Run {
  /** The transaction of this publication. */
  readonly database: Database;
  /** The number of this publication; its instant is not known before the end. */
  readonly publication: number;
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
  /** What readers would wait for until the commit: it is done just before. */
  readonly lastSteps: (() => Promise<void>)[];
  /** What lies between the numbers of records that are added at an end. */
  readonly stride: number;
  /** Awaited once a batch in long loops: lets signals be handled, and throws if the import was interrupted. */
  readonly pause: () => Promise<void>;
}

/** A record with where it came from. */
export interface Entry<K extends RecordKind> {
  readonly line: number;
  readonly key: string;
  /** The row number if it is a new record; null where it is stored, or its kind is not numbered in order. */
  readonly number: number | null;
  readonly lineHash: string;
  readonly record: PreparedRecord[K];
  /** Of the record: equal hashes, equal records. */
  readonly hash: string;
  /** What search finds it by. */
  readonly words: string;
  /** The `updated_at` that the line brings. */
  readonly updatedAt: string | null;
}

/** The number that was planned for a record that turned out to be new. */
export function plannedNumber(key: string, number: number | null): number {
  if (number === null) throw new Error(`no number was planned for ${key}`);
  return number;
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
  /** Writes what `write` may have held back. */
  flush?(): Promise<void>;
  /** The keys that are there now. */
  listKeys(): Promise<string[]>;
  /** Of these keys, the ones that another record still names, each with a description of one that does. */
  findReferrers?(keys: readonly string[]): Promise<Map<string, string>>;
  remove(keys: readonly string[]): Promise<void>;
  /** Checks what can only be seen when everything is written. */
  finish?(file: string, lines: KeyLines): Promise<void>;
}
