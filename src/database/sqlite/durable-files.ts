import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  createReadStream,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { OperatorError } from '../../operator-error.ts';

/** Waits until a file, or a folder's entries, are on disk. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The SHA-256 of a file, hexadecimal. */
export async function digestFile(path: string, onRead: (bytes: number) => void): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    digest.update(chunk);
    onRead(chunk.length);
  }
  return digest.digest('hex');
}

/**
 * Creates a folder, but not its parents: a path to an unmounted disk is a mistake.
 *
 * @returns a function that removes the folder if this call created it and it is empty.
 * @throws OperatorError if the parent folder is missing.
 */
export function makeLastFolder(folder: string): () => void {
  if (existsSync(folder)) return () => undefined;
  const parent = dirname(folder);
  if (!existsSync(parent)) throw new OperatorError(`the folder ${parent} does not exist: create it first`);
  mkdirSync(folder, { recursive: true });
  return () => {
    try {
      rmdirSync(folder);
    } catch {
      // It contains something else by now.
    }
  };
}

/**
 * Creates a folder that gets its name once `fill` has filled it and everything is on disk. Until then only its owner can
 * enter it. Overwrites nothing, and leaves nothing behind if it fails.
 *
 * @param target a folder that does not exist yet, or is empty.
 * @param fill gets the path to fill, and syncs the files in it.
 * @throws OperatorError if there is something else at the target, or its parent folder cannot be created.
 */
export async function createFolder<T>(target: string, fill: (folder: string) => Promise<T>): Promise<T> {
  const found = lstatSync(target, { throwIfNoEntry: false });
  if (found?.isDirectory() === false) throw new OperatorError(`${target} is not a folder: choose a new one`);
  if (found !== undefined && readdirSync(target).length > 0)
    throw new OperatorError(`${target} is not empty: choose a new folder`);
  const parent = dirname(resolve(target));
  using stack = new DisposableStack();
  stack.defer(makeLastFolder(parent));
  const partial = mkdtempSync(`${resolve(target)}.partial-`);
  // Finds nothing once the folder has its name.
  stack.defer(() => rmSync(partial, { recursive: true, force: true }));
  const result = await fill(partial);
  syncToDisk(partial);
  // Fails if another process has created the target meanwhile.
  renameSync(partial, target);
  syncToDisk(parent);
  return result;
}

/** Copies owner and permissions from `model`. If `model` is a folder, `mode` gives the permissions. */
export function makeLike(path: string, model: string, mode?: number): void {
  const { uid, gid, mode: ofModel } = statSync(model);
  chmodSync(path, mode ?? ofModel & 0o777);
  const own = statSync(path);
  // Only root can change a file's owner; otherwise it keeps the current user.
  if ((own.uid !== uid || own.gid !== gid) && process.getuid?.() === 0) chownSync(path, uid, gid);
}

/** Gives a file a second name, which remains when the first is replaced: a copy if the file system has no hard links. */
export function keepAs(path: string, other: string): void {
  try {
    linkSync(path, other);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS'].includes(code ?? '')) throw error;
    copyFileSync(path, other);
    syncToDisk(other);
  }
}
