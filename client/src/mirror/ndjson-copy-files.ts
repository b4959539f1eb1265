import { existsSync, readFileSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile, Replacement } from './ndjson-files.ts';
import { CopyError } from './store.ts';

/**
 * The files of a copy that others read. How large each one was left is remembered, so that one that was cut or taken
 * away since is noticed, and not built upon.
 */
export class CopyFiles {
  readonly #directory: string;
  readonly #sizesPath: string;
  /** By name: the size that a file was left with; while it is replaced, the one before and the one after. Null is none. */
  #sizes: Readonly<Record<string, readonly (number | null)[]>>;

  /** @throws CopyError where what is remembered cannot be read. */
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

  /** Whether it is as the mirror left it. */
  isAsLeft(name: string): boolean {
    return (this.#sizes[name] ?? [null]).includes(this.#sizeOf(name));
  }

  /**
   * Puts these lines in the place of a file, or a new one.
   *
   * @param prepare is done when the new file is complete, before it takes its place.
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

  /** Takes it as it is: what it lacks is written anew. */
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
 * What a file of the mirror's own holds; null where there is none.
 *
 * @throws CopyError where it is not what a mirror wrote.
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
  throw new CopyError(`${path} is not what a mirror wrote: begin a new copy in another directory`);
}
