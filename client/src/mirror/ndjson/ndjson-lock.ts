import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { CopyError } from '../store.ts';

/** The process that holds a lock. */
interface Holder {
  readonly pid: number;
  /** Distinguishes it from a later process with the same pid; null if the system does not report start times. */
  readonly startedAt: string | null;
}

/**
 * Locks a directory, so that only one mirror works on it at a time. Takes over the lock of a process that has died.
 *
 * @returns a function that releases the lock.
 * @throws CopyError if another process holds the lock.
 */
export function lockDirectory(path: string, directory: string): () => void {
  const own = JSON.stringify({ pid: process.pid, startedAt: startOf(process.pid) } satisfies Holder);
  const prepared = `${path}.${process.pid}`;
  // Written first, then linked, so that no process sees a partial lock file.
  writeFileSync(prepared, own);
  try {
    if (!takes(prepared, path)) {
      const found = readLock(path);
      if ((found !== null && isHeld(found)) || !removes(path, found) || !takes(prepared, path))
        throw new CopyError(`${directory}: another mirror is using it`);
    }
    return () => {
      if (readLock(path) === own) rmSync(path, { force: true });
    };
  } finally {
    rmSync(prepared, { force: true });
  }
}

function takes(prepared: string, path: string): boolean {
  try {
    linkSync(prepared, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readLock(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Removes the stale lock `found`. Returns false, and restores the lock, if another process has taken it since. */
function removes(path: string, found: string | null): boolean {
  const aside = `${path}.${process.pid}.old`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    throw error;
  }
  const isFound = readLock(aside) === found;
  if (!isFound) takes(aside, path);
  rmSync(aside, { force: true });
  return isFound;
}

function isHeld(lock: string): boolean {
  try {
    const { pid, startedAt } = JSON.parse(lock) as Holder;
    process.kill(pid, 0);
    return startedAt === startOf(pid);
  } catch (error) {
    // EPERM: the process exists but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * The start time of a process in clock ticks since boot (proc(5), `stat`); null if the system does not report it or the
 * process is a zombie.
 */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Skip the process name, which can contain any character. Field 3 is the state, field 22 the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
