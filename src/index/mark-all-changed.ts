import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { ALL, CHANGED, changeTerms, type IndexedKind } from './terms.ts';

/** All records of a kind were changed by a publication, and nothing else about them. */
export async function markAllChanged(
  { kysely }: Database,
  kind: IndexedKind,
  { number, token }: { number: number; token: string },
): Promise<void> {
  const index = sql.table(`catalog.${kind}_index`);
  const inBlocks = sql`block in (select block from catalog.index_blocks where kind = ${kind})`;
  // The slices are `@changed#0`, `@changed#1`, …; no other term lies between these.
  await sql`delete from ${index} where ${inBlocks} and term >= ${`${CHANGED}#`} and term < ${`${CHANGED}$`}`.execute(
    kysely,
  );
  for (const term of changeTerms(number)) {
    await sql`insert into ${index} (block, term, bits)
      select block, cast(${term} as text), bits from ${index} where ${inBlocks} and term = ${ALL}`.execute(kysely);
  }
  await kysely.updateTable('catalog.index_blocks').set({ token }).where('kind', '=', kind).execute();
}
