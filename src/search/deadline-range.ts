import { sql } from 'kysely';
import type { OpenDatabase } from '../database/database.ts';
import { catalogState } from '../database/revision.ts';

/** The first and the last deadline of all solicitations. */
export interface DeadlineRange {
  /** The last publication when they were read: what is asked with them has to be read at the same. */
  readonly asOf: string;
  /** Null where nothing has a deadline. */
  readonly first: string | null;
  readonly last: string | null;
}

/** Reads the range of deadlines once for each publication: two looks into the index on them. */
export class DeadlineRangeReader {
  readonly #database: OpenDatabase;
  #kept: DeadlineRange | null = null;

  constructor(database: OpenDatabase) {
    this.#database = database;
  }

  /** @param isFresh true forgets what was read before: it was read at an earlier publication. */
  async read(isFresh: boolean): Promise<DeadlineRange> {
    if (this.#kept !== null && !isFresh) return this.#kept;
    const [range] = await this.#database.run<{ as_of: string; first: string | null; last: string | null }>(
      'range of deadlines',
      () => {
        const closeAt = (order: 'asc' | 'desc') => sql<string | null>`(select close_at from catalog.solicitations
          where status <> 'draft' and close_at is not null order by close_at ${sql.raw(order)} limit 1)`;
        return sql<{ as_of: string; first: string | null; last: string | null }>`
          select ${catalogState} as as_of,
            ${closeAt('asc')} as first, ${closeAt('desc')} as last`;
      },
      {},
    );
    if (range === undefined) throw new Error('a statement that always gives a row gave none');
    this.#kept = { asOf: range.as_of, first: range.first, last: range.last };
    return this.#kept;
  }
}
