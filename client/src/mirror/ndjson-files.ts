import { createReadStream, existsSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** So many characters are written at once. */
const BUFFERED = 1 << 20;

/** The lines of a file, which may be missing. What follows the last line feed was cut off when it was written, and is left out. */
export async function* readLines(path: string): AsyncGenerator<string, void, undefined> {
  if (!existsSync(path)) return;
  let rest = '';
  // Not `node:readline`: it also ends lines at U+2028, which JSON leaves as it is.
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 1 << 18 })) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

/** A file that was written anew beside the old one, is complete and on the disk, and takes its place when it is told to. */
export class Replacement {
  readonly #path: string;
  /** In bytes. */
  readonly size: number;

  private constructor(path: string, size: number) {
    this.#path = path;
    this.size = size;
  }

  /** Writes it; nobody sees it before it is taken. */
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
    // Names reach the disk in any order otherwise, and the state must not be there before the records. Windows cannot.
    if (process.platform === 'win32') return;
    const directory = await open(dirname(this.#path), 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  }
}

/** Replaces a file by these lines. */
export async function replaceFile(path: string, lines: Iterable<string> | AsyncIterable<string>): Promise<void> {
  const replacement = await Replacement.of(path, lines);
  await replacement.take();
}

/**
 * Adds to a file whose first `size` bytes are good, and returns its size then. What follows them is cut off.
 *
 * @param isSynced whether it has to be on the disk before anything that is done later.
 */
export async function appendAt(path: string, size: number, text: string, isSynced: boolean): Promise<number> {
  const file = await open(path, existsSync(path) ? 'r+' : 'w');
  try {
    await file.truncate(size);
    const bytes = Buffer.from(text);
    // A disk that is nearly full takes a part, and refuses the next one.
    for (let written = 0; written < bytes.length;)
      written += (await file.write(bytes, written, bytes.length - written, size + written)).bytesWritten;
    if (isSynced) await file.datasync();
    return size + bytes.length;
  } finally {
    await file.close();
  }
}

/** Bytewise, as lists are ordered: UTF-16 orders what lies beyond the first plane otherwise. */
export function compareIds(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** A line and its id. */
export interface Line<T> {
  readonly id: string;
  readonly value: T;
}

/** What two orders of lines have of each id, one after the other. Both have to be in the order of their ids. */
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
