import { hash } from 'node:crypto';

/** Far beyond any record: keeps a file that is not NDJSON from filling the memory. */
const DEFAULT_MAX_LINE_BYTES = 8 * 1024 * 1024;

const LINE_FEED = 0x0a;
const OPENING_BRACE = 0x7b;
const QUOTE = 0x22;
const ID_START = Buffer.from('{"id":"');
/** Printable ASCII without escapes. */
const PLAIN = /^[ -[\]-~]*$/;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** The message continues "cannot be read: …". */
export class UnreadableFileError extends Error {}

/** One line of a file, without its line feed. */
export interface Line {
  number: number;
  bytes: Buffer;
}

/**
 * Splits bytes into lines of NDJSON and yields those of one chunk at a time, which are valid until the next are read.
 * Skips empty lines and a byte order mark at the start.
 *
 * @throws UnreadableFileError if a line is longer than 8 MiB.
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line[]> {
  let number = 0;
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const part of chunks) {
    const chunk = Buffer.from(part.buffer, part.byteOffset, part.length);
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      const piece = chunk.subarray(start, end);
      const bytes = pending.length === 0 ? piece : Buffer.concat([...pending, piece]);
      pending = [];
      pendingBytes = 0;
      start = end + 1;
      number += 1;
      take(lines, number, bytes);
    }
    // A copy: reading the next chunk invalidates this one.
    pending.push(Buffer.from(chunk.subarray(start)));
    pendingBytes += chunk.length - start;
    if (pendingBytes > DEFAULT_MAX_LINE_BYTES) {
      throw new UnreadableFileError(`line ${number + 1} is longer than 8 MiB: is this newline-delimited JSON?`);
    }
    yield lines;
  }
  const last: Line[] = [];
  take(last, number + 1, Buffer.concat(pending));
  yield last;
}

function take(lines: Line[], number: number, line: Buffer): void {
  if (line.length === 0) return;
  const isMarked = number === 1 && line.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const bytes = isMarked ? line.subarray(BYTE_ORDER_MARK.length) : line;
  if (bytes[0] === OPENING_BRACE || decodeLine(bytes)?.trim() !== '') lines.push({ number, bytes });
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a line; null if it is not valid UTF-8. */
export function decodeLine(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/**
 * The id of a line, read without parsing it if it begins with `{"id":"`. Null if there is none, or it contains NUL,
 * which PostgreSQL cannot look up. If a line has two ids, parsing can find the other.
 */
export function lineKey(bytes: Buffer): string | null {
  const plain = startingKey(bytes);
  if (plain !== null) return plain;
  try {
    const { id } = JSON.parse(decodeLine(bytes) ?? '') as { id?: unknown };
    return typeof id === 'string' && !id.includes('\0') ? Buffer.from(id).toString() : null;
  } catch {
    return null;
  }
}

/** Identifies a line: 128 bits of SHA-256. */
export function lineHash(bytes: Buffer): string {
  return hash('sha256', bytes, 'base64url').slice(0, 22);
}

/** The id at the start of a line, read without parsing; null if the line begins differently. */
export function startingKey(bytes: Buffer): string | null {
  if (!bytes.subarray(0, ID_START.length).equals(ID_START)) return null;
  const end = bytes.indexOf(QUOTE, ID_START.length);
  if (end === -1) return null;
  // A new string: a slice would keep the whole line in memory.
  const key = bytes.toString('latin1', ID_START.length, end);
  return PLAIN.test(key) ? key : null;
}
