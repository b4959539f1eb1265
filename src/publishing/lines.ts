/** No record is as long as this; a file that is not NDJSON at all should not fill the memory. */
const LONGEST_LINE_BYTES = 32 * 1024 * 1024;

const LINE_FEED = 0x0a;

/** Guards the memory against a file that is not made of lines. */
export class LineTooLongError extends Error {
  override name = 'LineTooLongError';
}

/** One line of a file. `text` is null where its bytes are no UTF-8. */
export interface Line {
  number: number;
  text: string | null;
}

/**
 * Cuts bytes into the lines of NDJSON. Empty lines are passed over, and a byte order mark at
 * the start of the file.
 *
 * @throws LineTooLongError where a line is longer than 32 MiB.
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let number = 0;
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      const part = chunk.subarray(start, end);
      const bytes = pending.length === 0 ? part : Buffer.concat([...pending, part]);
      pending = [];
      pendingBytes = 0;
      start = end + 1;
      number += 1;
      const line = decode(number, bytes);
      if (line !== null) yield line;
    }
    pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > LONGEST_LINE_BYTES) {
      throw new LineTooLongError(`line ${number + 1} is longer than 32 MiB: is this newline-delimited JSON?`);
    }
  }
  const line = decode(number + 1, Buffer.concat(pending));
  if (line !== null) yield line;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(number: number, bytes: Uint8Array): Line | null {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { number, text: null };
  }
  if (number === 1 && text.startsWith('\uFEFF')) text = text.slice(1);
  return text.trim() === '' ? null : { number, text };
}
