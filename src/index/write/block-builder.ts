import { compareBytewise } from '../../bytewise.ts';
import type { IndexedKind } from '../../kinds.ts';
import { at, BLOCK_SIZE, encodeSet, setOf, unionOf, type PositionSet, type StoredSet } from '../position-set.ts';
import { TERMS, type StoredRow } from '../terms.ts';
import { MAX_RECORD_BYTES, termsOfWord, wordsOf } from '../words.ts';

/* Runs in worker threads too: it imports no database code, so that they start quickly. */

/** Record-term pairs per chunk of memory, which is zeroed: an import of a few records fills one or two. */
const CHUNK_PAIRS = 16_384;

/** The rows of a large block take several times the memory of these. */
const PIECE_ROWS = 4_096;

/** A row of the index: the positions in a block of the records that have a term. */
export interface IndexEntry {
  readonly term: string;
  readonly set: PositionSet;
}

export type StoredEntry = Pick<StoredSet, 'term' | 'bits'>;

interface KnownWord {
  readonly id: number;
  /** The ids of the word's stem and prefix terms. */
  readonly derived: readonly number[];
  readonly bytes: number;
}

/**
 * Collects the terms of a block's records, and builds the rows of the index. Holds six bytes per distinct word of a
 * record, and nothing for stems and prefixes: their sets are unions of the words' sets, computed once per block.
 */
export class BlockBuilder {
  readonly #termIds = new Map<string, number>();
  readonly #words = new Map<string, KnownWord>();
  /** Each term's last position, so that a repeated term counts once. */
  readonly #lastPositions: number[] = [];
  readonly #chunks: { readonly terms: Uint32Array; readonly positions: Uint16Array }[] = [];
  #pairs = 0;

  /** Memory of the collected terms, in bytes. */
  get bytes(): number {
    return this.#pairs * (Uint32Array.BYTES_PER_ELEMENT + Uint16Array.BYTES_PER_ELEMENT);
  }

  addRecords<K extends IndexedKind>(kind: K, rows: readonly StoredRow[K][]): void {
    for (const row of rows) {
      const { terms, texts } = TERMS[kind](row);
      this.add(row.position % BLOCK_SIZE, terms, texts);
    }
  }

  /** Adds terms of one record, and those of the words of `texts`; see `Tokenizer.termsOf` for their limit. */
  add(position: number, terms: Iterable<string>, texts: readonly (string | null)[] = []): void {
    for (const term of terms) this.#addId(this.#idOf(term), position);
    /** Twice the bytes of the record's distinct words so far. */
    let wordBytes = 0;
    for (const text of texts) {
      for (const word of wordsOf(text ?? '')) {
        const { id, bytes } = this.#words.get(word) ?? this.#learnWord(word);
        if (this.#lastPositions[id] === position) continue;
        wordBytes += 2 * bytes;
        if (wordBytes > MAX_RECORD_BYTES) return;
        this.#addId(id, position);
      }
    }
  }

  /** Returns the rows in bytewise order of terms, as both databases sort them, and empties the builder. */
  build(): IndexEntry[] {
    return [...this.#buildPieces()].flat();
  }

  /** Yields the rows of {@link build} in pieces, encoded. */
  *buildStored(): Generator<StoredEntry[], undefined> {
    for (const entries of this.#buildPieces()) {
      // One buffer: a message between threads contains the whole buffer of each array, once.
      const bytes = Buffer.concat(entries.map(({ set }) => encodeSet(set)));
      let end = 0;
      yield entries.map(({ term, set }) => ({ term, bits: bytes.subarray(end, (end += set.byteLength)) }));
    }
  }

  *#buildPieces(): Generator<IndexEntry[]> {
    const terms = [...this.#termIds.keys()];
    const sets = this.#positionsByTerm(terms.length).map((positions) =>
      positions.length === 0 ? [] : [setOf(positions)],
    );
    for (const { id, derived } of this.#words.values()) {
      const [set] = sets[id] ?? [];
      if (set !== undefined) for (const other of derived) sets[other]?.push(set);
    }
    const filled = terms
      .flatMap((term, id) => (sets[id]?.length === 0 ? [] : [{ term, id }]))
      .sort((one, other) => compareBytewise(one.term, other.term));
    this.#pairs = 0;
    this.#termIds.clear();
    this.#words.clear();
    this.#lastPositions.length = 0;
    for (let start = 0; start < filled.length; start += PIECE_ROWS) {
      yield filled.slice(start, start + PIECE_ROWS).map(({ term, id }) => ({ term, set: unionOf(sets[id] ?? []) }));
    }
  }

  #addId(id: number, position: number): void {
    if (this.#lastPositions[id] === position) return;
    this.#lastPositions[id] = position;
    const chunk = (this.#chunks[Math.floor(this.#pairs / CHUNK_PAIRS)] ??= newChunk());
    chunk.terms[this.#pairs % CHUNK_PAIRS] = id;
    chunk.positions[this.#pairs % CHUNK_PAIRS] = position;
    this.#pairs += 1;
  }

  #learnWord(slice: string): KnownWord {
    // A new string: a slice would keep the whole text in memory.
    const word = Buffer.from(slice).toString();
    const [, ...derived] = termsOfWord(word);
    const known = {
      id: this.#idOf(word),
      derived: derived.map((term) => this.#idOf(term)),
      bytes: Buffer.byteLength(word),
    };
    this.#words.set(word, known);
    return known;
  }

  /** Counting sort: each term's positions, ascending. */
  #positionsByTerm(terms: number): Uint16Array[] {
    const ends = new Uint32Array(terms);
    for (const { terms: ids } of this.#filledChunks()) for (const id of ids) ends[id] = at(ends, id) + 1;
    const starts = new Uint32Array(terms);
    for (let id = 1; id < terms; id += 1) starts[id] = at(starts, id - 1) + at(ends, id - 1);
    ends.set(starts);
    const sorted = new Uint16Array(this.#pairs);
    for (const { terms: ids, positions } of this.#filledChunks()) {
      for (let pair = 0; pair < ids.length; pair += 1) {
        const id = at(ids, pair);
        sorted[at(ends, id)] = at(positions, pair);
        ends[id] = at(ends, id) + 1;
      }
    }
    // Records added out of order leave positions unsorted.
    return Array.from(starts, (start, id) => sorted.subarray(start, ends[id]).sort());
  }

  #idOf(term: string): number {
    const known = this.#termIds.get(term);
    if (known !== undefined) return known;
    const id = this.#termIds.size;
    this.#termIds.set(term, id);
    this.#lastPositions.push(-1);
    return id;
  }

  #filledChunks(): { terms: Uint32Array; positions: Uint16Array }[] {
    return this.#chunks.map(({ terms, positions }, index) => {
      const length = Math.max(0, Math.min(CHUNK_PAIRS, this.#pairs - index * CHUNK_PAIRS));
      return { terms: terms.subarray(0, length), positions: positions.subarray(0, length) };
    });
  }
}

function newChunk(): { terms: Uint32Array; positions: Uint16Array } {
  return { terms: new Uint32Array(CHUNK_PAIRS), positions: new Uint16Array(CHUNK_PAIRS) };
}
