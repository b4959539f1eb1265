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

export type SmallDisk = ReturnType<typeof mountSmallDisk>;

/** Why these tests cannot run here, or null if they can: mounting takes root. */
export function whyNoSmallDisk(): string | null {
  try {
    mountSmallDisk(1).remove();
    return null;
  } catch (error) {
    return `no file system can be mounted here, which takes root: ${String(error)}`;
  }
}

/**
 * Mounts a file system of a few MiB that can be filled completely.
 *
 * @param owner of the root folder; root by default.
 */
export function mountSmallDisk(mebibytes: number, owner: RunAs | null = null) {
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
    /** Leaves no space, or about this many bytes. */
    fill(leftBytes = 0): void {
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
    /** Unmounts it, and deletes its contents. */
    remove(): void {
      // Lazily: an exiting process can still have a file open.
      execFileSync('umount', ['--lazy', folder]);
      rmdirSync(folder);
    },
  };
}
