import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Snapshot } from '../access/snapshot.ts';
import { compareBytewise } from '../bytewise.ts';
import { isServed } from '../access/visibility/scope-sql.ts';
import {
  timestampParameter,
  freeText,
  type Filter,
  type Filters,
  type Parameter,
  type ParameterValues,
} from '../http/request/parameters.ts';
import { closes, hasAny, hasWords, type ChangedSince, type Condition } from '../index/conditions.ts';
import type { FoundRecords, RecordIndex } from '../index/record-index.ts';
import type { Facet } from '../index/terms.ts';
import type { IndexedKind } from '../kinds.ts';
import type { Since } from './since.ts';

/** The context of a filter's conditions, beside its value. */
export interface IndexQuery {
  readonly index: RecordIndex;
  readonly snapshot: Snapshot;
  /** Null without `updated_since`. */
  readonly since: ChangedSince | null;
  /** The time of the request. */
  readonly now: string;
}

export type IndexFilter = Filter<string, IndexQuery, Condition>;

export type ConditionsIn<Query, C> = (query: Query) => Promise<readonly C[]>;

/** Binds filters to their parsed values. */
export function conditionsOf<Query, C>(filters: Filters<Query, C>, values: ParameterValues): ConditionsIn<Query, C> {
  const given = Object.entries(filters).filter(([name]) => values[name] !== undefined);
  return async (query) =>
    (await Promise.all(given.map(async ([name, filter]) => filter.conditions(values[name], query)))).flat();
}

export const words: IndexFilter = { ...freeText, conditions: hasWords };

/** Records whose field has one of the values that a parameter made by `severalOf` takes. */
export function withAny(facet: Facet, parameter: Parameter<string>): IndexFilter {
  return { ...parameter, conditions: (values) => [hasAny(facet, values.split(','))] };
}

/** Solicitations that close no earlier than a timestamp, or no later. */
export function closing(comparison: 'at least' | 'at most', description: string): IndexFilter {
  return { ...timestampParameter(description), conditions: (timestamp) => [closes(comparison, timestamp)] };
}

/** The sync filter of a list of `records`, with a note on what else it does. `readSince` interprets its value. */
export function updatedSince(records: string, note = ''): IndexFilter {
  return {
    ...timestampParameter(
      `Only ${records} that changed or became visible to you at this time or later. Pass the \`X-Sync-Watermark\` of ` +
        'your last sync. Any other timestamp, such as your own clock or the latest `updated_at`, counts as 5 seconds ' +
        `earlier.${note && ` ${note}`}`,
    ),
    conditions: (_, { index, snapshot, since }) =>
      since === null ? [] : index.visibility.newSince(snapshot.scope, since),
  };
}

/**
 * Size limit of a page's texts in bytes; the remaining records go to the next page. A larger record gets a page of its
 * own. Only a database filled before record sizes were limited can contain one.
 */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** More records than a database has. */
export const UNLIMITED = 2 ** 31;

/** How a list's records are read and served. The expressions refer to the table as `record`. */
export interface ListedRecords {
  /** Names its statements: distinct for each form in which a table's records are read. */
  readonly name: string;
  /** The table in `catalog`. */
  readonly table: string;
  /** The column that orders the list, and whose value cursors contain. */
  readonly key: string;
  /** The indexed column by which records are found: their position in the index, or their key. */
  readonly foundBy: 'position' | 'key';
  /** The served text. Can use the parameter `now`. */
  readonly text: RawBuilder<string>;
  /** The stored size of the text in bytes. Must not require reading the text. */
  readonly bytes: RawBuilder<number>;
  /** When the text next changes by itself, if ever. Can use the parameter `now`. */
  readonly changesAt?: RawBuilder<string | null>;
  /** False for stored records that no partner can see; null if there are none. */
  readonly isServed: RawBuilder<SqlBool> | null;
}

/** Records found by key and stored exactly as served. */
export function storedWhole(table: string, key: string): ListedRecords {
  const text = sql<string>`record.document`;
  return { name: table, table, key, foundBy: 'key', text, bytes: sql<number>`octet_length(${text})`, isServed: null };
}

/** Records found by the index. */
export function indexed(kind: IndexedKind, texts: Pick<ListedRecords, 'text' | 'bytes' | 'changesAt'>): ListedRecords {
  return { name: kind, table: kind, key: 'id', foundBy: 'position', isServed: isServed(kind), ...texts };
}

interface ReadAt {
  /** Null for all records, whenever they changed. */
  readonly since: Since | null;
  readonly now: string;
}

export interface Listing {
  readonly records: ListedRecords;
  /** Finds the first records after a key, up to another, that the snapshot shows. Null is no limit. */
  find(
    snapshot: Snapshot,
    at: ReadAt,
    after: string | null,
    limit: number,
    until: string | null,
  ): Promise<FoundRecords>;
  /** The number of records after a key, without their positions: a million would take 8 MB. */
  count(snapshot: Snapshot, at: ReadAt, after: string | null): Promise<number>;
  /** The number of deadlines that have passed, each of which changed a record without a release. */
  countPassed?(snapshot: Snapshot, now: string): Promise<number>;
  /** Called with the last record of each batch. */
  remember?(snapshot: Snapshot, key: string, found: number | string): void;
}

/** A list whose records are found by the index. */
export function indexedListing(
  index: RecordIndex,
  records: ListedRecords,
  conditionsIn: ConditionsIn<IndexQuery, Condition>,
): Listing {
  return {
    records,
    find: async (snapshot, at, after, limit, until) =>
      index.find(snapshot, await conditionsIn({ index, snapshot, ...at }), { after, limit, until }),
    count: async (snapshot, at, after) => index.count(snapshot, await conditionsIn({ index, snapshot, ...at }), after),
    ...(records.changesAt !== undefined && {
      countPassed: (snapshot: Snapshot, now: string) => index.countOfAll(snapshot, closes('at most', now)),
    }),
    remember: (snapshot, key, position) => index.remember(snapshot, key, Number(position)),
  };
}

/**
 * A short list whose records are found by key.
 *
 * @param find returns the first `count` keys after another in order, or more.
 */
export function keyedListing(
  records: ListedRecords,
  find: (snapshot: Snapshot, after: string, count: number) => Promise<readonly string[]>,
): Listing {
  return {
    records,
    async find(snapshot, _at, after, limit, until) {
      const found = await find(snapshot, after ?? '', limit + 1);
      const keys = found.slice(0, limit);
      const positions = until === null ? keys : keys.filter((key) => compareBytewise(key, until) <= 0);
      return { positions, hasMore: found.length > limit && positions.length === keys.length, isRange: false };
    },
    count: async (snapshot, _at, after) => (await find(snapshot, after ?? '', UNLIMITED)).length,
  };
}
