import type { Duplex } from 'node:stream';
import type pg from 'pg';

/** The first byte of a message from the server with a row; four with its length follow. */
const DATA_ROW = 0x44;
const MESSAGE_HEAD_BYTES = 5;

/** Up to the text: the number of columns, a null, an ordinal of up to 20 digits, and the lengths of ordinal and text. */
const ROW_HEAD_BYTES = MESSAGE_HEAD_BYTES + 2 + 4 + 4 + 20 + 4;

/** Most results fit. */
const INITIAL_BYTES = 512 * 1024;

const NOTHING = Buffer.alloc(0);

/** `pg` has no declaration of it. */
interface Connected {
  readonly connection: { readonly stream: Duplex };
}

/** A read-only statement. */
export interface ReadStatement extends pg.QueryConfig {
  /** Rows whose first column is null are texts: their other columns are an ordinal and the text. */
  readonly readsTexts?: true;
}

/** The result of a statement. Its rows are those that are not texts. */
export interface ReadResult extends pg.QueryResult {
  readonly texts?: Texts;
}

interface Texts {
  readonly count: number;
  /** Each followed by a line feed. */
  readonly bytes: Uint8Array;
}

/** Runs a statement on a connection that runs no other. */
export async function runStatement(client: pg.PoolClient, statement: ReadStatement): Promise<ReadResult> {
  if (statement.readsTexts !== true) return client.query(statement);
  const rows = new TextRows((client as unknown as Connected).connection.stream);
  try {
    const result = await client.query(statement);
    return Object.assign(result, { texts: rows.texts });
  } finally {
    rows.release();
  }
}

/**
 * Takes the rows of texts from a connection while one statement runs, and hands everything else on to `pg`. That would
 * make a string and an object of each row, which takes more than twice the CPU time, mostly to collect the garbage.
 */
class TextRows {
  readonly #stream: Duplex;
  readonly #parse: (bytes: Buffer) => void;
  readonly #onData = (chunk: Buffer): void => this.#read(chunk);
  /** The beginning of a message, if it is too short to tell what it is. */
  #rest: Buffer = NOTHING;
  /** The bytes of the current message that have not arrived, and whether it is a text. */
  #left = 0;
  #isText = false;
  #bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #length = 0;
  #count = 0;
  #lastOrdinal = -Infinity;
  #isInOrder = true;

  constructor(stream: Duplex) {
    const [parse] = stream.listeners('data');
    if (parse === undefined) throw new Error('the connection is not read');
    this.#stream = stream;
    this.#parse = parse as (bytes: Buffer) => void;
    stream.off('data', this.#parse).on('data', this.#onData);
  }

  /** @throws Error if they are in another order: PostgreSQL does not promise that a `union all` keeps that of its parts. */
  get texts(): Texts {
    if (!this.#isInOrder) throw new Error('texts were returned in another order');
    return { count: this.#count, bytes: this.#bytes.subarray(0, this.#length) };
  }

  /** Gives the connection back, unless a text has not arrived completely: then it cannot be used any more. */
  release(): void {
    if (this.#isText && this.#left > 0) return;
    this.#stream.off('data', this.#onData).on('data', this.#parse);
    if (this.#rest.length > 0) this.#parse(this.#rest);
  }

  #read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let at = 0; at < bytes.length;) {
      if (this.#left === 0) {
        const begin = this.#beginMessage(bytes, at);
        if (begin === null) {
          this.#rest = bytes.subarray(at);
          return;
        }
        at = begin;
      }
      const end = Math.min(at + this.#left, bytes.length);
      this.#left -= end - at;
      if (this.#isText) this.#append(bytes, at, end);
      else this.#parse(bytes.subarray(at, end));
      at = end;
    }
    this.#rest = NOTHING;
  }

  /** @returns where the text begins, or the message if it is none; null if that is not known yet. */
  #beginMessage(bytes: Buffer, at: number): number | null {
    const available = bytes.length - at;
    if (available < MESSAGE_HEAD_BYTES) return null;
    const length = 1 + bytes.readUInt32BE(at + 1);
    const isRow = bytes[at] === DATA_ROW;
    if (isRow && available < Math.min(length, ROW_HEAD_BYTES)) return null;
    this.#isText = isRow && bytes.readInt32BE(at + 7) === -1;
    this.#left = length;
    if (!this.#isText) return at;
    const afterOrdinal = at + 15 + bytes.readInt32BE(at + 11);
    const ordinal = Number(bytes.toString('latin1', at + 15, afterOrdinal));
    this.#isInOrder &&= ordinal > this.#lastOrdinal;
    this.#lastOrdinal = ordinal;
    this.#count += 1;
    this.#left = bytes.readInt32BE(afterOrdinal);
    return afterOrdinal + 4;
  }

  #append(bytes: Buffer, start: number, end: number): void {
    const length = this.#length + end - start + 1;
    if (length > this.#bytes.length) {
      const longer = Buffer.allocUnsafeSlow(2 * length);
      this.#bytes.copy(longer, 0, 0, this.#length);
      this.#bytes = longer;
    }
    this.#length += bytes.copy(this.#bytes, this.#length, start, end);
    if (this.#left > 0) return;
    this.#bytes[this.#length] = 0x0a;
    this.#length += 1;
  }
}
