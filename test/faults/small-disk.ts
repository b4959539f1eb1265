import { execFileSync } from 'node:child_process';
import {
  chownSync,
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { reachableTemporaryFolder, type RunAs } from '../support/postgres-programs.ts';

/** A file system of a few MiB that can be filled to the last byte. */
export interface SmallDisk {
  readonly folder: string;
  /** Leaves no room, or about so many bytes. */
  fill(leftBytes?: number): void;
  /** Gives the room back. */
  free(): void;
  /** Removes it with all that is on it. */
  remove(): void;
}

/** Why these tests cannot run here; null where they can: mounting is root's. */
export function whyNoSmallDisk(): string | null {
  try {
    mountSmallDisk(1).remove();
    return null;
  } catch (error) {
    return `no file system can be mounted here, which takes root: ${String(error)}`;
  }
}

/** @param owner who may write to it besides root. */
export function mountSmallDisk(mebibytes: number, owner: RunAs | null = null): SmallDisk {
  const folder = mkdtempSync(join(reachableTemporaryFolder(), 'pds-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=0755`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  if (owner !== null) chownSync(folder, owner.uid, owner.gid);
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill(leftBytes = 0) {
      const file = openSync(ballast, 'a');
      const page = Buffer.alloc(4_096);
      try {
        for (;;) writeSync(file, page);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        ftruncateSync(file, Math.max(0, fstatSync(file).size - leftBytes));
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(ballast),
    remove() {
      // Lazily: a process that is ending may still have a file open.
      execFileSync('umount', ['--lazy', folder]);
      rmdirSync(folder);
    },
  };
}
