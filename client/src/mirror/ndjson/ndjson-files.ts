import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { CopyError } from '../store.ts';

/** Files are read and written in parts of about this size. */
const BUFFERED = 1 << 20;

/** Reads the lines of a file; none if it does not exist. Skips a partial last line, left by an interrupted write. */
export function* readLines(path: string, bytes = Infinity): Generator<string, void, undefined> {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r');
  try {
    const [buffer, decoder] = [Buffer.allocUnsafe(BUFFERED), new StringDecoder('utf8')];
    let rest = '';
    for (let left = bytes; left > 0;) {
      const read = readSync(file, buffer, 0, Math.min(left, BUFFERED), null);
      if (read === 0) return;
      left -= read;
      // Not `node:readline`: it also splits lines at U+2028, which JSON does not escape.
      const lines = (rest + decoder.write(buffer.subarray(0, read))).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } finally {
    closeSync(file);
  }
}

/** A complete, fsynced new version of a file, written next to it and renamed over it by `take`. */
export class Replacement {
  readonly #path: string;
  /** In bytes. */
  readonly size: number;

  /** Writes the new version; readers still see the old one until `take`. */
  constructor(path: string, lines: Iterable<string>) {
    this.#path = path;
    const file = openSync(`${path}.new`, 'w');
    try {
      let buffered: string[] = [];
      let length = 0;
      for (const line of lines) {
        buffered.push(line, '\n');
        length += line.length;
        if (length <= BUFFERED) continue;
        writeAll(file, buffered.join(''), null);
        buffered = [];
        length = 0;
      }
      writeAll(file, buffered.join(''), null);
      fsyncSync(file);
      this.size = fstatSync(file).size;
    } finally {
      closeSync(file);
    }
  }

  take(): void {
    renameSync(`${this.#path}.new`, this.#path);
    // Without an fsync of the directory, renames can reach the disk in any order, and the state must never be saved
    // before the records. Windows cannot sync directories.
    if (process.platform === 'win32') return;
    const directory = openSync(dirname(this.#path), 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  }
}

/** Truncates a file to its first `size` bytes, which are intact, then appends `text`. Returns the new size in bytes. */
export function appendAt(path: string, size: number, text: string): number {
  const file = openSync(path, existsSync(path) ? 'r+' : 'w');
  try {
    ftruncateSync(file, size);
    const written = writeAll(file, text, size);
    fdatasyncSync(file);
    return size + written;
  } finally {
    closeSync(file);
  }
}

/** On a nearly full disk, a write can be partial, and the next one fails. */
function writeAll(file: number, text: string, position: number | null): number {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;)
    written += writeSync(file, bytes, written, bytes.length - written, position === null ? null : position + written);
  return bytes.length;
}

/** Compares ids by their UTF-8 bytes, the order of the lists. UTF-16 order differs for characters above U+FFFF. */
export function compareIds(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/**
 * Reads a JSON object from an internal file; null if the file does not exist.
 *
 * @throws CopyError if the content is not a JSON object.
 */
export function readJson(path: string): object | null {
  if (!existsSync(path)) return null;
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    value = null;
  }
  if (typeof value === 'object' && value !== null) return value;
  throw new CopyError(`${path} was not written by a mirror. Start a new copy in another directory`);
}
