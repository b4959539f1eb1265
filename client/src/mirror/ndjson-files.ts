import { createReadStream, existsSync } from 'node:fs';
import { open, rename, type FileHandle } from 'node:fs/promises';
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

/** Writes a file anew beside the old one, and takes its place when it is complete and on the disk. */
export class Replacement {
  readonly #path: string;
  readonly #file: FileHandle;
  #buffered: string[] = [];
  #size = 0;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  static async of(path: string): Promise<Replacement> {
    return new Replacement(path, await open(`${path}.new`, 'w'));
  }

  async write(line: string): Promise<void> {
    this.#buffered.push(line, '\n');
    this.#size += line.length;
    if (this.#size > BUFFERED) await this.#flush();
  }

  /** The file is complete; `take` puts it in its place. */
  async finish(): Promise<void> {
    await this.#flush();
    await this.#file.sync();
    await this.#file.close();
  }

  async take(): Promise<void> {
    await rename(`${this.#path}.new`, this.#path);
    // Names reach the disk in any order otherwise, and the state must not be there before the records. Windows cannot.
    if (process.platform === 'win32') return;
    const directory = await open(dirname(this.#path), 'r');
    await directory.sync();
    await directory.close();
  }

  async #flush(): Promise<void> {
    await this.#file.writeFile(this.#buffered.join(''));
    this.#buffered = [];
    this.#size = 0;
  }
}

/** Replaces a file by these lines. */
export async function replaceFile(path: string, lines: Iterable<string> | AsyncIterable<string>): Promise<void> {
  const replacement = await Replacement.of(path);
  for await (const line of lines) await replacement.write(line);
  await replacement.finish();
  await replacement.take();
}

/** Adds to a file whose first `size` bytes are good, and returns its size then. What follows them is cut off. */
export async function appendAt(path: string, size: number, text: string): Promise<number> {
  const file = await open(path, existsSync(path) ? 'r+' : 'w');
  try {
    await file.truncate(size);
    const { bytesWritten } = await file.write(Buffer.from(text), 0, null, size);
    await file.datasync();
    return size + bytesWritten;
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
