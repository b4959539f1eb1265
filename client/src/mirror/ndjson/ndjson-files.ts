import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
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

/**
 * Writes a new version of a file next to it. Readers see the old one until `takeNew`.
 *
 * @returns its size in bytes.
 */
export function writeNew(path: string, lines: Iterable<string>): number {
  return writeLines(createFile(newOf(path)), 0, lines);
}

/** Creates an empty file, and opens it. Removes an older file or link of that name, and does not follow the link. */
export function createFile(path: string): number {
  rmSync(path, { force: true });
  return openSync(path, 'wx');
}

/** A link in place of a file could lead to any file of the user. Windows does not know this flag. */
const APPEND =
  constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | ((constants.O_NOFOLLOW as number | undefined) ?? 0);

/**
 * Cuts a file to `size` bytes, then appends lines. Returns the new size.
 *
 * @throws CopyError if the file is a symbolic link.
 */
export function appendAt(path: string, size: number, lines: Iterable<string>): number {
  try {
    return writeLines(openSync(path, APPEND), size, lines);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ELOOP') throw cause;
    throw new CopyError(`${path} is a symbolic link. Remove it`, { cause });
  }
}

/** Writes lines after the first `size` bytes, closes the file and returns its size. */
function writeLines(file: number, size: number, lines: Iterable<string>): number {
  try {
    if (fstatSync(file).size > size) ftruncateSync(file, size);
    const writer = new LineWriter(file);
    for (const line of lines) writer.write(line);
    return writer.end();
  } finally {
    closeSync(file);
  }
}

/** Appends lines to an open file, in large parts. */
export class LineWriter {
  readonly #file: number;
  #text = '';

  constructor(file: number) {
    this.#file = file;
  }

  write(line: string): void {
    this.#text += `${line}\n`;
    if (this.#text.length > BUFFERED) this.#flush();
  }

  /** Returns the size of the file in bytes, once all is on the disk. */
  end(): number {
    this.#flush();
    fsyncSync(this.#file);
    return fstatSync(this.#file).size;
  }

  #flush(): void {
    writeFileSync(this.#file, Buffer.from(this.#text));
    this.#text = '';
  }
}

/** Puts the new version of a file in its place, if there is one. */
export function takeNew(path: string): void {
  if (existsSync(newOf(path))) renameSync(newOf(path), path);
  // Without an fsync of the directory, renames can reach the disk in any order, and the state must never be saved
  // before the records. Windows cannot sync directories.
  if (process.platform === 'win32') return;
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

export function newOf(path: string): string {
  return `${path}.new`;
}
