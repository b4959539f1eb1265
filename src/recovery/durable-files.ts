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
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { RecoveryError } from './recovery-error.ts';

/** Waits until a file, or the names in a folder, are on the disk. */
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
 * Makes a folder, and none above it: a path to a disk that is not mounted is a mistake.
 *
 * @returns what takes it away again, if this made it and nothing is in it.
 * @throws RecoveryError where the folder above is missing.
 */
export function makeLastFolder(folder: string): () => void {
  if (existsSync(folder)) return () => undefined;
  if (!existsSync(dirname(folder))) throw new RecoveryError(`there is no folder ${dirname(folder)}: make it first`);
  mkdirSync(folder, { recursive: true });
  return () => {
    try {
      rmdirSync(folder);
    } catch {
      // Something else is in it meanwhile.
    }
  };
}

/** Gives a file the owner and the permissions of another one, or of a folder the owner alone. */
export function makeLike(path: string, model: string, mode?: number): void {
  const { uid, gid, mode: ofModel } = statSync(model);
  chmodSync(path, mode ?? ofModel & 0o777);
  const own = statSync(path);
  // Whoever is not root cannot give a file away; then it is as any other that he makes.
  if ((own.uid !== uid || own.gid !== gid) && process.getuid?.() === 0) chownSync(path, uid, gid);
}

/** Gives a file a second name, which it keeps when the first is another's; a copy where the disk knows no such thing. */
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

/** Moves a file if it is there. */
export function moveIfThere(path: string, other: string): void {
  if (existsSync(path)) renameSync(path, other);
}
