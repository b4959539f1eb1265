import { sql } from 'kysely';
import type { OpenDatabase } from '../../../src/database/database.ts';
import { isOneOf } from '../../../src/database/statement.ts';
import { RecordIndex } from '../../../src/index/record-index.ts';
import { SetCache } from '../../../src/index/block-query.ts';
import { hasWords } from '../../../src/index/conditions.ts';
import type { IndexedKind } from '../../../src/kinds.ts';
import { EPOCH } from '../../../src/timestamp.ts';
import { takeSnapshot } from '../snapshots.ts';

/** The ids of all records that match these words, in order, unrestricted by any partner's grants. */
export async function idsFound(database: OpenDatabase, kind: IndexedKind, q: string): Promise<string[]> {
  const index = new RecordIndex(kind, new SetCache(64 * 1024 * 1024));
  const everything = { everythingSince: EPOCH, leadEntities: new Map(), coops: new Map() };
  const snapshot = await takeSnapshot(database, 1, everything);
  const { positions } = await index.find(snapshot, hasWords(q), { after: null, limit: Number.MAX_SAFE_INTEGER });
  const keys = positions.map(String);
  const { rows } = await sql<{ id: string }>`select id from ${sql.table(`catalog.${kind}`)}
    where ${isOneOf(database.engine, sql`cast(position as text)`, keys)} order by id`.execute(database.kysely);
  return rows.map(({ id }) => id);
}
