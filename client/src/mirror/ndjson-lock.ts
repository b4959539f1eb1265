import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { CopyError } from './store.ts';

/** Who holds a lock. */
interface Holder {
  readonly pid: number;
  /** Tells it from a later process with the same number; null where the system does not say. */
  readonly startedAt: string | null;
}

/**
 * One mirror at a time. A lock whose holder is not there any more, since it was killed, is taken over.
 *
 * @returns what gives the lock back.
 * @throws CopyError where another process holds it.
 */
export function lockDirectory(path: string, directory: string): () => void {
  const own = JSON.stringify({ pid: process.pid, startedAt: startOf(process.pid) } satisfies Holder);
  const prepared = `${path}.${process.pid}`;
  // Linked when it is written, so that nobody sees half of it.
  writeFileSync(prepared, own);
  try {
    if (!takes(prepared, path)) {
      const found = readLock(path);
      if ((found !== null && isHeld(found)) || !removes(path, found) || !takes(prepared, path))
        throw new CopyError(`${directory}: another mirror is at work on it`);
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

/** Whether it removed the lock that was found, and not one that another process has taken since. */
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
    // It is there, and another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * When a process started, in the system's own terms (proc(5), `stat`); null where the system does not say, and where the
 * process has ended but its parent has not asked for it.
 */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // What comes before is its name, which may hold anything. Field 3 is the state, field 22 the start.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
