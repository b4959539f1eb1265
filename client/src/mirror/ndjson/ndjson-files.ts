import { createReadStream, existsSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Lines are written in batches of about this many characters. */
const BUFFERED = 1 << 20;

/** Reads the lines of a file; none if it does not exist. Skips a partial last line, left by an interrupted write. */
export async function* readLines(path: string): AsyncGenerator<string, void, undefined> {
  if (!existsSync(path)) return;
  let rest = '';
  // Not `node:readline`: it also splits lines at U+2028, which JSON does not escape.
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 1 << 18 })) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

/** A complete, fsynced new version of a file, written next to it and renamed over it by `take`. */
export class Replacement {
  readonly #path: string;
  /** In bytes. */
  readonly size: number;

  private constructor(path: string, size: number) {
    this.#path = path;
    this.size = size;
  }

  /** Writes the new version; readers still see the old one until `take`. */
  static async of(path: string, lines: Iterable<string> | AsyncIterable<string>): Promise<Replacement> {
    const file = await open(`${path}.new`, 'w');
    try {
      let buffered: string[] = [];
      let length = 0;
      for await (const line of lines) {
        buffered.push(line, '\n');
        length += line.length;
        if (length <= BUFFERED) continue;
        await file.writeFile(buffered.join(''));
        buffered = [];
        length = 0;
      }
      await file.writeFile(buffered.join(''));
      await file.sync();
      return new Replacement(path, (await file.stat()).size);
    } finally {
      await file.close();
    }
  }

  async take(): Promise<void> {
    await rename(`${this.#path}.new`, this.#path);
    // Without an fsync of the directory, renames can reach the disk in any order, and the state must never be saved
    // before the records. Windows cannot sync directories.
    if (process.platform === 'win32') return;
    const directory = await open(dirname(this.#path), 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  }
}

/** Replaces a file atomically. */
export async function replaceFile(path: string, lines: Iterable<string> | AsyncIterable<string>): Promise<void> {
  const replacement = await Replacement.of(path, lines);
  await replacement.take();
}

/**
 * Truncates a file to its first `size` bytes, which are intact, then appends `text`. Returns the new size in bytes.
 *
 * @param isSynced whether to sync the file to disk before returning.
 */
export async function appendAt(path: string, size: number, text: string, isSynced: boolean): Promise<number> {
  const file = await open(path, existsSync(path) ? 'r+' : 'w');
  try {
    await file.truncate(size);
    const bytes = Buffer.from(text);
    // On a nearly full disk, a write can be partial, and the next one fails.
    for (let written = 0; written < bytes.length;)
      written += (await file.write(bytes, written, bytes.length - written, size + written)).bytesWritten;
    if (isSynced) await file.datasync();
    return size + bytes.length;
  } finally {
    await file.close();
  }
}

/** Compares ids by their UTF-8 bytes, the order of the lists. UTF-16 order differs for characters above U+FFFF. */
export function compareIds(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** A parsed line and its id. */
export interface Line<T> {
  readonly id: string;
  readonly value: T;
}

/** A full outer merge join by id. Both inputs must be sorted by `compareIds`. */
export async function* joinById<A, B>(
  left: AsyncIterator<Line<A>>,
  right: AsyncIterator<Line<B>>,
): AsyncGenerator<{ id: string; left: A | undefined; right: B | undefined }, void, undefined> {
  let [a, b] = [await left.next(), await right.next()];
  while (a.done !== true || b.done !== true) {
    const order = a.done === true ? 1 : b.done === true ? -1 : compareIds(a.value.id, b.value.id);
    const line = order <= 0 ? (a.value as Line<A>) : (b.value as Line<B>);
    yield {
      id: line.id,
      left: order <= 0 ? (a.value as Line<A>).value : undefined,
      right: order >= 0 ? (b.value as Line<B>).value : undefined,
    };
    if (order <= 0) a = await left.next();
    if (order >= 0) b = await right.next();
  }
}
