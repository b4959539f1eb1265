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
import { reachableTemporaryFolder, type RunAs } from '../support/postgres/postgres-programs.ts';

/** A file system of a few MiB that can be filled completely. */
export interface SmallDisk {
  readonly folder: string;
  /** Leaves no space, or about this many bytes. */
  fill(leftBytes?: number): void;
  /** Frees the space again. */
  free(): void;
  /** Unmounts it, and deletes its contents. */
  remove(): void;
}

/** Why these tests cannot run here, or null if they can: mounting takes root. */
export function whyNoSmallDisk(): string | null {
  try {
    mountSmallDisk(1).remove();
    return null;
  } catch (error) {
    return `no file system can be mounted here, which takes root: ${String(error)}`;
  }
}

/** @param owner of the root folder; root by default. */
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
      // Lazily: an exiting process can still have a file open.
      execFileSync('umount', ['--lazy', folder]);
      rmdirSync(folder);
    },
  };
}
