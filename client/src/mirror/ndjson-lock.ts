import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  const own: Holder = { pid: process.pid, startedAt: startOf(process.pid) };
  const prepared = `${path}.${process.pid}`;
  // Linked when it is written, so that nobody sees half of it.
  writeFileSync(prepared, JSON.stringify(own));
  try {
    for (let attempt = 0; ; attempt += 1) {
      try {
        linkSync(prepared, path);
        return () => rmSync(path, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        if (attempt > 0 || isHeld(path)) throw new CopyError(`${directory}: another mirror is at work on it`);
        rmSync(path, { force: true });
      }
    }
  } finally {
    rmSync(prepared, { force: true });
  }
}

function isHeld(path: string): boolean {
  try {
    const { pid, startedAt } = JSON.parse(readFileSync(path, 'utf8')) as Holder;
    if (pid === process.pid) return startedAt === startOf(pid);
    process.kill(pid, 0);
    return startedAt === startOf(pid);
  } catch (error) {
    // It is there, and another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** When a process started, in the system's own terms (proc(5), field 22 of `stat`). */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
