import { sql } from 'kysely';
import { expect } from 'vitest';
import type { OpenDatabase } from '../../../src/database/database.ts';
import { readIndexedRows } from '../../../src/index/write/indexed-rows.ts';
import { BLOCK_SIZE, decodeSet, positionsFrom } from '../../../src/index/position-set.ts';
import { termsOf } from '../../../src/index/terms.ts';
import { Tokenizer } from '../../../src/index/words.ts';
import type { IndexedKind } from '../../../src/kinds.ts';

/** A stored block of the index. */
export interface StoredBlock {
  readonly block: number;
  readonly firstId: string;
  readonly token: string;
  /** The positions, relative to the block, of the records that have each term. */
  readonly positionsByTerm: ReadonlyMap<string, readonly number[]>;
}

/** The index of one kind, and the position of each record, in order of id. */
export interface StoredIndex {
  readonly blocks: readonly StoredBlock[];
  readonly records: readonly { readonly id: string; readonly position: number }[];
}

/** Reads the index of a kind and the positions of its records. */
export async function readStoredIndex({ kysely }: OpenDatabase, kind: IndexedKind): Promise<StoredIndex> {
  const { rows } = await sql<{ block: number; term: string; bits: Uint8Array }>`
    select block, term, bits from ${sql.table(`catalog.${kind}_index`)}`.execute(kysely);
  const byBlock = Map.groupBy(rows, ({ block }) => block);
  const blocks = await kysely
    .selectFrom('catalog.index_blocks')
    .select(['block', 'first_id', 'token'])
    .where('kind', '=', kind)
    .orderBy('first_id')
    .execute();
  const known = new Set(blocks.map(({ block }) => block));
  expect([...byBlock.keys()].filter((block) => !known.has(block))).toEqual([]);
  return {
    blocks: blocks.map(({ block, first_id: firstId, token }) => ({
      ...{ block, firstId, token },
      positionsByTerm: new Map(
        (byBlock.get(block) ?? []).map(({ term, bits }) => [term, positionsFrom(decodeSet(bits), 0, BLOCK_SIZE)]),
      ),
    })),
    records: await kysely.selectFrom(`catalog.${kind}`).select(['id', 'position']).orderBy('id').execute(),
  };
}

/** Asserts that the index has exactly the terms of the stored records, and that every record is at a valid position. */
export async function expectWholeIndex(
  database: OpenDatabase,
  kind: IndexedKind,
  blockSize = BLOCK_SIZE,
): Promise<StoredIndex> {
  const stored = await readStoredIndex(database, kind);
  const tokenizer = new Tokenizer();
  for (const { block, positionsByTerm } of stored.blocks) {
    const expected = new Map<string, number[]>();
    for await (const rows of readIndexedRows(database, kind, block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE)) {
      for (const row of rows) {
        for (const term of termsOf(kind, row, tokenizer)) {
          const positions = expected.get(term);
          if (positions === undefined) expected.set(term, [row.position % BLOCK_SIZE]);
          else positions.push(row.position % BLOCK_SIZE);
        }
      }
    }
    expect(differencesOf(positionsByTerm, expected), `${kind}, block ${block}: term, stored, expected`).toEqual([]);
  }
  expectRecordsInPlace(stored, blockSize);
  return stored;
}

type PositionsByTerm = StoredBlock['positionsByTerm'];

/** The terms whose positions differ. `toEqual` would take seconds for these thousands of terms. */
function differencesOf(
  one: PositionsByTerm,
  other: PositionsByTerm,
): [string, string | undefined, string | undefined][] {
  return [...new Set([...one.keys(), ...other.keys()])].flatMap((term) => {
    const [left, right] = [one.get(term)?.join(' '), other.get(term)?.join(' ')];
    return left === right ? [] : [[term, left, right]];
  });
}

function expectRecordsInPlace({ blocks, records }: StoredIndex, blockSize: number): void {
  const isInPlace = ({ id, position }: StoredIndex['records'][number], index: number): boolean => {
    const block = blocks.findLast(({ firstId }) => firstId <= id)?.block;
    const before = records[index - 1];
    const isBehind =
      before === undefined ||
      blockOf(before.position) !== blockOf(position) ||
      before.position % BLOCK_SIZE < position % BLOCK_SIZE;
    return blockOf(position) === block && position % BLOCK_SIZE < blockSize && isBehind;
  };
  expect(records.filter((record, index) => !isInPlace(record, index))).toEqual([]);
}

/** The number of the block that contains a position. */
export function blockOf(position: number): number {
  return Math.floor(position / BLOCK_SIZE);
}

/**
 * Asserts that an import moved records only in blocks that gained new records, each within its block or to a new one;
 * and that every block whose terms or records changed has a new token, so that no stale cache entry matches.
 *
 * @param keys the ids in the import.
 */
export function expectLocalChanges(before: StoredIndex, after: StoredIndex, keys: Iterable<string>): void {
  const stored = new Map(before.records.map(({ id, position }) => [id, position]));
  const blockFor = (id: string): number | undefined => before.blocks.findLast(({ firstId }) => firstId <= id)?.block;
  const withNew = new Set([...keys].filter((key) => !stored.has(key)).map(blockFor));
  const known = new Set(before.blocks.map(({ block }) => block));
  const strayed = after.records.filter(({ id, position }) => {
    const from = stored.get(id);
    if (from === undefined || from === position) return false;
    return !withNew.has(blockOf(from)) || (blockOf(from) !== blockOf(position) && known.has(blockOf(position)));
  });
  expect(strayed).toEqual([]);

  const recordsIn = ({ records }: StoredIndex, block: number): unknown =>
    records.filter(({ position }) => blockOf(position) === block);
  for (const { block, firstId, token, positionsByTerm } of after.blocks) {
    const then = before.blocks.find((other) => other.block === block);
    if (then?.token !== token) continue;
    const what = `block ${block}, whose token is as it was`;
    expect(firstId, what).toBe(then.firstId);
    expect(differencesOf(then.positionsByTerm, positionsByTerm), what).toEqual([]);
    expect(recordsIn(after, block), what).toEqual(recordsIn(before, block));
  }
}
