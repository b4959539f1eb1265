import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { inSnapshot, type Database } from '../database/database.ts';
import { readValue } from '../database/statement.ts';
import { BlockBuilder, type StoredEntry } from '../index/write/block-builder.ts';
import { indexTable, readIndexedRows } from '../index/write/indexed-rows.ts';
import { placementCheck, readLayout, type LayoutBlock, countRecords } from '../index/write/rebuild-index.ts';
import {
  BLOCK_SIZE,
  decodeSet,
  encodeSet,
  positionsFrom,
  setOf,
  isIntact,
  type StoredSet,
} from '../index/position-set.ts';
import { INDEXED_KINDS, type IndexedKind } from '../kinds.ts';
import { quoted } from '../printable.ts';
import type { OnProgress } from '../database/catalog-lock.ts';

/** Index rows read at a time: up to 8 MB. */
const BATCH_TERMS = 1_000;

/** The positions of a block that a sample covers. */
const SAMPLE_POSITIONS = 1_024;

/** A sample stops after this time with what it has compared. */
const MAX_SAMPLE_MS = 2_000;

/** The possible faults of a kind's index, in words. */
export const FAULTS = {
  'missing row': { one: 'missing term', many: 'missing terms' },
  'superfluous row': { one: 'superfluous term', many: 'superfluous terms' },
  'differing row': { one: 'term with the wrong records', many: 'terms with the wrong records' },
  'damaged row': { one: 'term with a wrong checksum', many: 'terms with a wrong checksum' },
  'misplaced record': { one: 'record out of order', many: 'records out of order' },
  'unlisted block': { one: 'block that is not listed', many: 'blocks that are not listed' },
} as const;

export type IndexFault = keyof typeof FAULTS;

/** The findings for one kind's index, with the numbers of records and of index rows that were compared. */
export type IndexFindings = Pick<KindVerification, 'kind' | 'records' | 'rows' | 'faults'>;

/** Compares the whole index with the stored records in one snapshot. Holds the terms of one block in memory. */
export async function verifyIndex(database: Database, onProgress: OnProgress): Promise<IndexFindings[]> {
  return inSnapshot(database, async (snapshot) => {
    const counts = await countRecords(snapshot);
    const total = counts.reduce((sum, { records }) => sum + records, 0);
    const findings: IndexFindings[] = [];
    let done = 0;
    for (const kind of INDEXED_KINDS) {
      const verification = new KindVerification(snapshot, kind, async (records) => {
        await setImmediate();
        done += records;
        onProgress({ done, total, what: kind });
        return true;
      });
      for (const block of await verification.readLayout()) await verification.verify(block, [0, BLOCK_SIZE]);
      findings.push(verification);
    }
    return findings;
  });
}

/** Compares a random range of one block of each kind, in one snapshot. */
export async function verifySample(database: Database): Promise<IndexFindings[]> {
  const endsAt = performance.now() + MAX_SAMPLE_MS;
  return inSnapshot(database, async (snapshot) => {
    const findings: IndexFindings[] = [];
    for (const kind of INDEXED_KINDS) {
      const verification = new KindVerification(snapshot, kind, async () => {
        await setImmediate();
        return performance.now() < endsAt;
      });
      const blocks = await verification.readLayout();
      const block = blocks[randomBelow(blocks.length)];
      if (block !== undefined) await verification.verify(block, await choosePart(snapshot, kind, block));
      findings.push(verification);
    }
    return findings;
  });
}

/** A range of a block's positions: from the first up to the second. */
type Part = readonly [from: number, to: number];

async function choosePart(database: Database, kind: IndexedKind, { number }: LayoutBlock): Promise<Part> {
  const start = number * BLOCK_SIZE;
  const last = sql`select max(position) as value from ${sql.table(`catalog.${kind}`)}
    where position >= ${start} and position < ${start + BLOCK_SIZE}`;
  const used = ((await readValue<number>(database, last)) ?? start) - start + 1;
  const from = randomBelow(Math.max(1, used - SAMPLE_POSITIONS + 1));
  // Includes the positions after the last record, which must be empty.
  return [from, from + SAMPLE_POSITIONS >= used ? BLOCK_SIZE : from + SAMPLE_POSITIONS];
}

function randomBelow(end: number): number {
  return Math.floor(Math.random() * end);
}

class KindVerification {
  readonly kind: IndexedKind;
  readonly faults = new Map<IndexFault, { count: number; example: string }>();
  records = 0;
  rows = 0;
  readonly #database: Database;
  /** Called with the number of records just read; false ends the comparison with index rows. */
  readonly #onBatch: (records: number) => Promise<boolean>;

  constructor(database: Database, kind: IndexedKind, onBatch: (records: number) => Promise<boolean>) {
    this.#database = database;
    this.kind = kind;
    this.#onBatch = onBatch;
  }

  async readLayout(): Promise<readonly LayoutBlock[]> {
    const blocks = await readLayout(this.#database, this.kind);
    for (const { number, ids } of blocks) if (ids === null) this.#count('unlisted block', `${number}`);
    return blocks;
  }

  async verify(block: LayoutBlock, [from, to]: Part): Promise<void> {
    const start = block.number * BLOCK_SIZE;
    const isInPlace = placementCheck(block);
    const builder = new BlockBuilder();
    for await (const rows of readIndexedRows(this.#database, this.kind, start + from, start + to)) {
      for (const row of rows) if (!isInPlace(row)) this.#count('misplaced record', row.id);
      builder.addRecords(this.kind, rows);
      this.records += rows.length;
      await this.#onBatch(rows.length);
    }
    await this.#compare(block.number, [...builder.buildStored()].flat(), [from, to]);
  }

  async #compare(block: number, entries: readonly StoredEntry[], [from, to]: Part): Promise<void> {
    /** The expected rows that are not among the stored ones read so far. */
    const missing = new Map(entries.map(({ term, bits }) => [term, bits]));
    for await (const stored of this.#readRows(block)) {
      for (const row of stored) {
        const { term, bits } = row;
        if (!isIntact(this.kind, row)) this.#countRow('damaged row', block, term);
        const expected = missing.get(term);
        missing.delete(term);
        const part = partOf(bits, [from, to]);
        if (expected === undefined) {
          if (part.length > 0 || to - from === BLOCK_SIZE) this.#countRow('superfluous row', block, term);
        } else if (Buffer.compare(expected, part) !== 0) this.#countRow('differing row', block, term);
      }
      this.rows += stored.length;
      if (!(await this.#onBatch(0))) return;
    }
    for (const term of missing.keys()) this.#countRow('missing row', block, term);
  }

  async *#readRows(block: number): AsyncGenerator<StoredSet[]> {
    // Stored terms are never empty.
    for (let after: string | null = ''; after !== null;) {
      const { rows }: { rows: StoredSet[] } = await sql<StoredSet>`select block, term, bits, checksum
        from ${sql.table(indexTable(this.kind))} where block = ${block} and term > ${after}
        order by term limit ${sql.lit(BATCH_TERMS)}`.execute(this.#database.kysely);
      yield rows;
      after = rows.length < BATCH_TERMS ? null : (rows.at(-1)?.term ?? null);
    }
  }

  #countRow(fault: IndexFault, block: number, term: string): void {
    this.#count(fault, `${quoted(term)} in block ${block}`);
  }

  #count(fault: IndexFault, example: string): void {
    const counted = this.faults.get(fault) ?? { count: 0, example };
    this.faults.set(fault, { ...counted, count: counted.count + 1 });
  }
}

/** The stored form of the positions in a part. */
function partOf(bits: Uint8Array, [from, to]: Part): Uint8Array {
  if (to - from === BLOCK_SIZE) return bits;
  const positions = positionsFrom(decodeSet(bits), from, to - from).filter((position) => position < to);
  return encodeSet(setOf(Uint16Array.from(positions)));
}
