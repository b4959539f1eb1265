import { readFileSync, statSync } from 'node:fs';
import { InputError } from './input-error.ts';

/**
 * The size of an input file. Only regular files are read: a pipe may never end, and Node cannot exit while it opens one.
 *
 * @throws InputError if it is no regular file, or cannot be read.
 */
export function getFileSize(path: string): number {
  const stats = orRefuse(path, () => statSync(path));
  if (!stats.isFile()) throw new InputError(`${path} cannot be read: only regular files are, no pipes or folders`);
  return stats.size;
}

/** @throws InputError if the file cannot be read. */
export function readText(path: string): string {
  getFileSize(path);
  return orRefuse(path, () => readFileSync(path, 'utf8')).replace(/^\uFEFF/, '');
}

function orRefuse<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new InputError(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
