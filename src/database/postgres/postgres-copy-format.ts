/** A column to copy, and its type's name in `pg_type`. */
export interface CopyColumn {
  readonly name: string;
  readonly type: string;
}

/** A row's values in column order: text, integers, bytes and nulls. */
type CopyRow = readonly unknown[];

/** Bytes written to the socket at a time. A larger row gets a larger chunk. */
const CHUNK_BYTES = 64 * 1024;

// https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format": signature, no flags, no header extension.
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const TRAILER_BYTES = 2;
const NULL_LENGTH = -1;
const END_OF_DATA = -1;

/** A UTF-16 code unit takes at most three bytes in UTF-8. */
const MAX_CHARACTER_BYTES = 3;

const TWO_TO_32 = 2 ** 32;

/**
 * Encodes rows in COPY's binary format, yielding chunks as the consumer takes them.
 *
 * @throws TypeError for a value that does not match its column's type, or a column of a type other than text, int4,
 *   int8 and bytea.
 */
export function* encodeCopy(columns: readonly CopyColumn[], rows: Iterable<CopyRow>): Generator<Buffer> {
  const writers = columns.map(writerFor);
  // Each chunk gets a new buffer: the socket may still hold the previous one.
  let chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let end = HEADER.copy(chunk);
  for (const row of rows) {
    const bytes = maxBytes(row);
    if (end + bytes + TRAILER_BYTES > chunk.length) {
      yield chunk.subarray(0, end);
      chunk = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, bytes + TRAILER_BYTES));
      end = 0;
    }
    end = chunk.writeInt16BE(writers.length, end);
    for (const [index, write] of writers.entries()) {
      const value = row[index];
      end = value === null ? chunk.writeInt32BE(NULL_LENGTH, end) : write(chunk, end, value);
    }
  }
  end = chunk.writeInt16BE(END_OF_DATA, end);
  yield chunk.subarray(0, end);
}

/** An upper bound for the row's encoded size. */
function maxBytes(row: CopyRow): number {
  let bytes = 2;
  for (const value of row) {
    bytes += 4;
    if (typeof value === 'string') bytes += value.length * MAX_CHARACTER_BYTES;
    else bytes += value instanceof Uint8Array ? value.length : 8;
  }
  return bytes;
}

/** Writes a value after its length; returns the offset of the next one. */
type WriteValue = (chunk: Buffer, start: number, value: unknown) => number;

function writerFor({ name, type }: CopyColumn): WriteValue {
  const refuse = (value: unknown): never => {
    const shown = typeof value === 'number' ? String(value) : typeof value;
    throw new TypeError(`${name} is a column of type ${type} and cannot take this value: ${shown}`);
  };
  switch (type) {
    case 'text':
      return (chunk, start, value) => {
        if (typeof value !== 'string') return refuse(value);
        const length = chunk.write(value, start + 4);
        return chunk.writeInt32BE(length, start) + length;
      };
    case 'int4':
      return (chunk, start, value) => {
        if (typeof value !== 'number' || (value | 0) !== value) return refuse(value);
        return chunk.writeInt32BE(value, chunk.writeInt32BE(4, start));
      };
    case 'int8':
      return (chunk, start, value) => {
        if (!Number.isSafeInteger(value)) return refuse(value);
        const number = value as number;
        const low = chunk.writeInt32BE(Math.floor(number / TWO_TO_32), chunk.writeInt32BE(8, start));
        return chunk.writeUInt32BE(number >>> 0, low);
      };
    case 'bytea':
      return (chunk, start, value) => {
        if (!(value instanceof Uint8Array)) return refuse(value);
        const from = chunk.writeInt32BE(value.length, start);
        chunk.set(value, from);
        return from + value.length;
      };
    default:
      throw new TypeError(
        `${name} is a column of type ${type}, which is not copied: only text, int4, int8 and bytea are`,
      );
  }
}
