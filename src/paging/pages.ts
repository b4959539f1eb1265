import type { Scope } from '../access/scope.ts';
import type { OpenDatabase } from '../database/database.ts';
import type { ParameterValues } from '../database/statement.ts';
import type { Condition } from '../index/evaluate.ts';
import type { FoundRecords, RecordIndex } from '../index/record-index.ts';
import {
  MAX_PAGE_BYTES,
  pageStatement,
  sizesStatement,
  type ListedRecords,
  type StatedPage,
} from './page-statement.ts';

/** An attempt fails only if it meets a release within microseconds, or a replica that lags behind. */
export const MAX_ATTEMPTS = 10;

/** The records of a list, and how to read them. */
export interface Listing {
  readonly records: ListedRecords;
  /** Finds the first records after a key that the scope can see; null starts at the beginning. */
  find(scope: Scope, after: string | null, limit: number): Promise<FoundRecords>;
  /** Call when the texts were read in another catalog state than the one in which the records were found. */
  forget(): void;
  /** Called with the last record of each page. */
  remember?(catalog: string, key: string, found: number | string): void;
}

/** A list whose records are found by the index. */
export function indexedListing(
  index: RecordIndex,
  records: ListedRecords,
  conditionsIn: (scope: Scope) => readonly Condition[] | Promise<readonly Condition[]>,
): Listing {
  return {
    records,
    find: async (scope, after, limit) => index.find(await conditionsIn(scope), after, limit),
    forget: () => index.forget(),
    remember: (catalog, key, position) => index.remember(catalog, key, Number(position)),
  };
}

export interface PageRow extends StatedPage {
  readonly hasMore: boolean;
}

/** Reads a page, and ensures that its records were found and its texts read in the same catalog state. */
export async function readPage(
  database: OpenDatabase,
  listing: Listing,
  {
    scope,
    after,
    limit,
    partnerId,
    now,
  }: { scope: Scope; after: string | null; limit: number; partnerId: number; now: string },
): Promise<PageRow> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { catalog, positions, hasMore } = await listing.find(scope, after, limit);
    const { page, read } = await readTexts(database, listing.records, positions, { partner_id: partnerId, now });
    if (page.catalog === catalog) {
      if (page.shown !== read) throw new Error(`the index names ${read - page.shown} records that are not stored`);
      const last = positions[read - 1];
      if (page.last_key !== null && last !== undefined) listing.remember?.(catalog, page.last_key, last);
      return { ...page, hasMore: hasMore || read < positions.length };
    }
    listing.forget();
    // The first failure is a release in between; any further one means that one of two servers lags behind.
    if (attempt > 0) database.bypassReplicas();
  }
  throw new Error(`no page in one state after ${MAX_ATTEMPTS} attempts: publications follow each other too fast`);
}

/**
 * Reads the texts of as many records as fit into a page, usually all. The first is always included, whatever its size.
 */
async function readTexts(
  database: OpenDatabase,
  records: ListedRecords,
  found: FoundRecords['positions'],
  values: { partner_id: number; now: string },
): Promise<{ page: StatedPage; read: number }> {
  const page = await readPageOf(database, records, found, { ...values, bytes: MAX_PAGE_BYTES });
  if (page.shown > 0 || found.length === 0) return { page, read: found.length };
  const sizes = await database.run(`sizes of ${records.table}`, () => sizesStatement(database.engine, records), {
    found,
  });
  // A replica in another state has none of these records.
  if (sizes.length === 0) return { page: { ...page, catalog: '' }, read: 0 };
  let [read, bytes] = [0, 0];
  while (read < sizes.length && (read === 0 || bytes + (sizes[read]?.bytes ?? 0) <= MAX_PAGE_BYTES)) {
    bytes += sizes[read]?.bytes ?? 0;
    read += 1;
  }
  return { page: await readPageOf(database, records, found.slice(0, read), { ...values, bytes }), read };
}

async function readPageOf(
  database: OpenDatabase,
  records: ListedRecords,
  found: FoundRecords['positions'],
  values: ParameterValues,
): Promise<StatedPage> {
  const [page] = await database.run(`${records.table} page`, () => pageStatement(database.engine, records), {
    ...values,
    found,
  });
  if (page === undefined) throw new Error('a statement that always gives a row gave none');
  return page;
}
