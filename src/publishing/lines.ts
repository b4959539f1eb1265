/** No record is as long as this; a file that is not NDJSON at all should not fill the memory. */
const LONGEST_LINE_BYTES = 8 * 1024 * 1024;

const LINE_FEED = 0x0a;
const OPENING_BRACE = 0x7b;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Guards the memory against a file that is not made of lines. */
export class LineTooLongError extends Error {
  override name = 'LineTooLongError';
}

/** One line of a file, without its line feed. */
export interface Line {
  number: number;
  bytes: Buffer;
}

/**
 * Cuts bytes into the lines of NDJSON, as many at a time as one chunk holds. Empty lines are
 * passed over, and a byte order mark at the start of the file.
 *
 * @throws LineTooLongError where a line is longer than 8 MiB.
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
    pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > LONGEST_LINE_BYTES) {
      throw new LineTooLongError(`line ${number + 1} is longer than 8 MiB: is this newline-delimited JSON?`);
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

/** The text of a line; null where its bytes are no UTF-8. */
export function decodeLine(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
