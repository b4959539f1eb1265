import { decodeLine } from './lines.ts';

const START = Buffer.from('{"id":"');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The id of a line, read without parsing the line if it begins with `{"id":"`, otherwise from the parsed JSON. Null if
 * there is none. If the line contains `id` twice, the parsed record can have another id; parsing detects that.
 */
export function lineKey(bytes: Buffer): string | null {
  const plain = startingKey(bytes);
  if (plain !== null) return plain;
  try {
    const { id } = JSON.parse(decodeLine(bytes) ?? '') as { id?: unknown };
    return typeof id === 'string' ? Buffer.from(id).toString() : null;
  } catch {
    return null;
  }
}

/** The id at the start of a line, read without parsing; null if the line begins differently. */
export function startingKey(bytes: Buffer): string | null {
  if (!bytes.subarray(0, START.length).equals(START)) return null;
  const end = bytes.indexOf(QUOTE, START.length);
  // A new string: a slice would keep the whole line in memory.
  return end !== -1 && isPlain(bytes, START.length, end) ? bytes.toString('latin1', START.length, end) : null;
}

/** Whether all bytes are printable ASCII without escapes. */
function isPlain(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x20 || byte > 0x7e || byte === BACKSLASH) return false;
  }
  return true;
}
