import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Partner, Scope } from '../access/scope.ts';
import { isServed } from '../access/visibility/scope-sql.ts';
import type { Engine, OpenDatabase } from '../database/database.ts';
import { catalogState } from '../database/revision.ts';
import { firstRow, joinedTexts, listedKeys, parameter } from '../database/statement.ts';
import {
  timestampParameter,
  freeText,
  type Filter,
  type Filters,
  type Parameter,
  type ParameterValues,
} from '../http/request/parameters.ts';
import { closes, hasValue, hasWords, type ChangedSince, type Condition } from '../index/conditions.ts';
import type { FoundRecords, RecordIndex } from '../index/record-index.ts';
import { OtherStateError } from '../index/statements.ts';
import type { Facet } from '../index/terms.ts';
import type { IndexedKind } from '../kinds.ts';
import { seenEvents, type SeenEvents, type Since } from './one-state.ts';

/** The context of a filter's conditions, beside its value. */
export interface IndexQuery {
  readonly index: RecordIndex;
  readonly scope: Scope;
  /** Null without `updated_since`. */
  readonly since: ChangedSince | null;
  /** The state of the catalog that the index is read in. */
  readonly catalog: string;
}

/** A filter of an indexed kind. */
export type IndexFilter = Filter<string, IndexQuery, Condition>;

/** The conditions of the filters that a request has. */
export type ConditionsIn<Query, C> = (query: Query) => Promise<readonly C[]>;

/** Binds filters to their parsed values. */
export function conditionsOf<Query, C>(filters: Filters<Query, C>, values: ParameterValues): ConditionsIn<Query, C> {
  const given = Object.entries(filters).filter(([name]) => values[name] !== undefined);
  return async (query) =>
    (await Promise.all(given.map(async ([name, filter]) => filter.conditions(values[name], query)))).flat();
}

/**
 * Finds in the index the records that the scope shows and that meet the conditions. Every list and count of an indexed
 * kind goes through here; only `countPassed` has no scope, since it counts the deadlines of all partners.
 *
 * @throws OtherStateError if the conditions were read in another state of the catalog than the records.
 */
export async function findInScope<Found extends { readonly catalog: string }>(
  { index, scope, since }: Omit<IndexQuery, 'catalog'>,
  conditionsIn: ConditionsIn<IndexQuery, Condition>,
  find: (conditions: readonly Condition[]) => Promise<Found>,
): Promise<Found> {
  const catalog = await index.catalog();
  const conditions = await conditionsIn({ index, scope, since, catalog });
  return inState(catalog, await find([index.visibility.in(scope), ...conditions]));
}

/** Records that have all words of a text. */
export const words: IndexFilter = { ...freeText, conditions: hasWords };

/** Records whose field has this value. */
export function withValue(facet: Facet, parameter: Parameter<string>): IndexFilter {
  return { ...parameter, conditions: (value) => [hasValue(facet, value)] };
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
    conditions: (_, { index, scope, since }) => (since === null ? [] : index.visibility.newSince(scope, since)),
  };
}

/**
 * Size limit of a page's texts in bytes; the remaining records go to the next page. A larger record gets a page of its
 * own. Only a database filled before record sizes were limited can contain one.
 */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** More records than a database has. */
export const UNLIMITED = 2 ** 31;

/** More than a text can have: the largest integer of a comparison with `octet_length` on PostgreSQL. */
export const ANY_SIZE = 2 ** 31 - 1;

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

/** The records of a list, and how to find them. */
export interface Listing {
  readonly records: ListedRecords;
  /**
   * Finds the first records after a key that the scope can see; null starts at the beginning.
   *
   * @param since null for all of them, whenever they changed.
   * @param until the last key to find; null for no limit.
   */
  find(
    scope: Scope,
    since: Since | null,
    after: string | null,
    limit: number,
    until: string | null,
  ): Promise<FoundRecords>;
  /** The number of records after a key. A million positions would take 8 MB. */
  count(scope: Scope, since: Since | null, after: string | null): Promise<{ catalog: string; total: number }>;
  /** The number of deadlines that have passed, each of which changed a record without a release. */
  countPassed?(now: string): Promise<number>;
  /** Call when the texts were read in another catalog state than the one in which the records were found. */
  forget?(): void;
  /** Called with the last record of each page. */
  remember?(catalog: string, key: string, found: number | string): void;
}

/** A list whose records are found by the index. */
export function indexedListing(
  index: RecordIndex,
  records: ListedRecords,
  conditionsIn: ConditionsIn<IndexQuery, Condition>,
): Listing {
  return {
    records,
    find: (scope, since, after, limit, until) =>
      findInScope({ index, scope, since }, conditionsIn, (conditions) => index.find(conditions, after, limit, until)),
    count: (scope, since, after) =>
      findInScope({ index, scope, since }, conditionsIn, (conditions) => index.count(conditions, after)),
    ...(records.changesAt !== undefined && {
      countPassed: async (now: string) => (await index.count([closes('at most', now)])).total,
    }),
    forget: () => index.forget(),
    remember: (catalog, key, position) => index.remember(catalog, key, Number(position)),
  };
}

/** The single row of the page statement. */
interface StatedPage extends SeenEvents {
  /** Number of records on the page: those whose texts do not exceed the parameter `bytes`. */
  readonly record_count: number;
  /** The texts, comma-separated. */
  readonly data: string | null;
  readonly last_key: string | null;
  readonly changes_at: string | null;
}

export interface PageRow extends StatedPage {
  readonly hasMore: boolean;
}

/** Which records of a list to read. */
export interface PageRequest {
  readonly since: Since | null;
  /** The key before the first; null for the start of the list. */
  readonly after: string | null;
  readonly limit: number;
  readonly now: string;
}

/** @throws OtherStateError if the page's records were found and its texts read in different states of the catalog. */
export async function readPage(
  database: OpenDatabase,
  listing: Listing,
  { id, scope }: Pick<Partner, 'id' | 'scope'>,
  request: PageRequest,
): Promise<PageRow> {
  const { records } = listing;
  const { since, after, limit, now } = request;
  const { catalog, positions, hasMore } = await listing.find(scope, since, after, limit, null);
  const read = async (found: FoundRecords['positions'], bytes: number): Promise<StatedPage> => {
    const values = { partner_id: id, now, found, bytes };
    const name = `${records.name} page`;
    const page = firstRow(await database.run(name, () => pageStatement(database.engine, records), values));
    return inState(catalog, page);
  };
  let found = positions;
  // Texts of an equal share each fit into a page together, which is known without adding up their sizes.
  let page = await read(found, Math.floor(MAX_PAGE_BYTES / Math.max(1, found.length)));
  if (page.record_count < found.length) {
    found = await firstFitting(database, records, { catalog, found, maxBytes: MAX_PAGE_BYTES });
    page = await read(found, ANY_SIZE);
  }
  if (page.record_count !== found.length)
    throw new Error(`the index names ${found.length - page.record_count} records that are not stored`);
  const last = found.at(-1);
  if (page.last_key !== null && last !== undefined) listing.remember?.(catalog, page.last_key, last);
  return { ...page, hasMore: hasMore || found.length < positions.length };
}

/** @throws OtherStateError if a row was read in another state of the catalog. */
export function inState<Row extends { readonly catalog: string }>(catalog: string, row: Row): Row {
  if (row.catalog !== catalog) throw new OtherStateError();
  return row;
}

/**
 * The first of some records whose texts fit into a size: at least one, whatever its own.
 *
 * @throws OtherStateError if the catalog is in another state.
 */
export async function firstFitting(
  database: OpenDatabase,
  records: ListedRecords,
  { catalog, found, maxBytes }: { catalog: string; found: FoundRecords['positions']; maxBytes: number },
): Promise<FoundRecords['positions']> {
  const name = `sizes of ${records.name}`;
  const sizes = await database.run(name, () => sizesStatement(database.engine, records), { found });
  inState(catalog, firstRow(sizes));
  let total = 0;
  const firstTooMany = sizes.findIndex(({ bytes }) => (total += bytes ?? 0) > maxBytes);
  return firstTooMany === -1 ? found : found.slice(0, Math.max(1, firstTooMany));
}

/**
 * Reads the texts of the records in the parameter `found`, in that order, with the events. Returns a single row,
 * because transferring many rows costs more than the texts in them. A text larger than the parameter `bytes` is neither
 * read nor returned.
 */
export function pageStatement(engine: Engine, listed: ListedRecords): RawBuilder<StatedPage> {
  // A cross join, since SQLite joins it in this order: its own choice was to scan the whole table if the key was text.
  return sql<StatedPage>`
    select seen.*, page.*
    from (${seenEvents}) as seen cross join (
      select count(*) as record_count, ${joinedTexts(engine, 'texts.text', 'texts.ordinal')} as data,
        max(texts.key) as last_key, min(texts.changes_at) as changes_at
      from (${listedTexts(engine, listed)}) as texts
    ) as page`;
}

function listedTexts(engine: Engine, listed: ListedRecords): RawBuilder<unknown> {
  const { key, text, bytes, changesAt = sql<null>`null` } = listed;
  return sql`
        select listed.ordinal, ${sql.ref(`record.${key}`)} as key, ${text} as text, ${changesAt} as changes_at
        from ${listedKeys(engine, 'found', typeOf(listed), 'listed')}
        cross join ${sql.table(`catalog.${listed.table}`)} as record
        where ${foundColumn(listed)} = listed.value and ${bytes} <= ${parameter('bytes')}`;
}

/** Reads the sizes of the records in the parameter `found`, in that order; null for one that is not stored. */
export function sizesStatement(
  engine: Engine,
  listed: ListedRecords,
): RawBuilder<{ catalog: string; bytes: number | null }> {
  return sql<{ catalog: string; bytes: number | null }>`select ${catalogState} as catalog, ${listed.bytes} as bytes
    from ${listedKeys(engine, 'found', typeOf(listed), 'listed')}
    left join ${sql.table(`catalog.${listed.table}`)} as record on ${foundColumn(listed)} = listed.value
    order by listed.ordinal`;
}

/** The column by which the records of a list are found. */
export function foundColumn({ foundBy, key }: ListedRecords): RawBuilder<unknown> {
  return sql.ref(`record.${foundBy === 'position' ? 'position' : key}`);
}

export function typeOf({ foundBy }: ListedRecords): 'bigint' | 'text' {
  return foundBy === 'position' ? 'bigint' : 'text';
}
