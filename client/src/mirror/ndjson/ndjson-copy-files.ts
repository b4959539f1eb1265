import { existsSync, readFileSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile, Replacement } from './ndjson-files.ts';
import { CopyError } from '../store.ts';

/**
 * The public files of a copy. Records the size of each, so that a file truncated or deleted by others is detected
 * instead of being updated incrementally.
 */
export class CopyFiles {
  readonly #directory: string;
  readonly #sizesPath: string;
  /** Expected sizes in bytes by file name: one, or old and new during a replacement. Null: the file does not exist. */
  #sizes: Readonly<Record<string, readonly (number | null)[]>>;

  /** @throws CopyError if the recorded sizes cannot be read. */
  constructor(directory: string, internal: string) {
    this.#directory = directory;
    this.#sizesPath = join(internal, 'files.json');
    this.#sizes = (readJson(this.#sizesPath) ?? {}) as Record<string, number[]>;
  }

  path(name: string): string {
    return join(this.#directory, name);
  }

  exists(name: string): boolean {
    return existsSync(this.path(name));
  }

  /** Whether the file still has the size that the mirror left. */
  isAsLeft(name: string): boolean {
    return (this.#sizes[name] ?? [null]).includes(this.#sizeOf(name));
  }

  /**
   * Creates a file, or replaces it atomically.
   *
   * @param prepare runs once the new file is complete, before the rename.
   */
  async replace(
    name: string,
    lines: Iterable<string> | AsyncIterable<string>,
    prepare: () => Promise<void> = async () => undefined,
  ): Promise<void> {
    const replacement = await Replacement.of(this.path(name), lines);
    await prepare();
    await this.#remember(name, [this.#sizeOf(name), replacement.size]);
    await replacement.take();
    await this.accept(name);
  }

  /** Records the current size as expected. The caller ensures that lost records are fetched again. */
  async accept(name: string): Promise<void> {
    await this.#remember(name, [this.#sizeOf(name)]);
  }

  async remove(name: string): Promise<void> {
    await this.#remember(name, [this.#sizeOf(name), null]);
    await rm(this.path(name), { force: true });
    await this.accept(name);
  }

  #sizeOf(name: string): number | null {
    return statSync(this.path(name), { throwIfNoEntry: false })?.size ?? null;
  }

  async #remember(name: string, sizes: readonly (number | null)[]): Promise<void> {
    this.#sizes = { ...this.#sizes, [name]: sizes };
    await replaceFile(this.#sizesPath, [JSON.stringify(this.#sizes)]);
  }
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
