import { decodeLine } from './lines.ts';

const START = Buffer.from('{"id":"');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The id that a line begins with, without reading the rest of it; of a line that begins in
 * another way, what JSON says. Null where there is none. A line that names `id` twice can mean
 * another one: that shows when it is parsed.
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

/** The id that a line begins with, read without parsing anything of it; null if it begins in another way. */
export function startingKey(bytes: Buffer): string | null {
  if (!bytes.subarray(0, START.length).equals(START)) return null;
  const end = bytes.indexOf(QUOTE, START.length);
  // Its own string: a slice of the line would keep the line in memory.
  return end !== -1 && isPlain(bytes, START.length, end) ? bytes.toString('latin1', START.length, end) : null;
}

/** Printable ASCII that is no escape: bytes that stand for themselves. */
function isPlain(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x20 || byte > 0x7e || byte === BACKSLASH) return false;
  }
  return true;
}
