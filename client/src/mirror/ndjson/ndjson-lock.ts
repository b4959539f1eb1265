import { closeSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CopyError } from '../store.ts';
import { createFile } from './ndjson-files.ts';

/**
 * Locks a copy, so that only one mirror works on it at a time. Each puts a file there that is named for its process, and
 * gives up if it then finds that of another one that lives. So of two that start together, both can give up.
 *
 * @returns a function that releases the lock.
 * @throws CopyError if another process holds the lock.
 */
export function lockDirectory(directory: string, internal: string): () => void {
  const own = `lock-${process.pid}-${startOf(process.pid)}`;
  const unlock = (): void => rmSync(join(internal, own), { force: true });
  closeSync(createFile(join(internal, own)));
  for (const name of readdirSync(internal)) {
    if (!name.startsWith('lock') || name === own) continue;
    if (isHeld(name)) {
      unlock();
      throw new CopyError(`${directory}: another mirror is using it`);
    }
    rmSync(join(internal, name), { force: true });
  }
  return unlock;
}

function isHeld(name: string): boolean {
  try {
    const [, pid, startedAt] = name.split('-');
    process.kill(Number(pid), 0);
    return String(startedAt) === startOf(Number(pid));
  } catch (error) {
    // EPERM: the process exists but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * The start time of a process in clock ticks since boot (proc(5), `stat`), which distinguishes it from a later one with
 * the same pid; "null" if the system does not report it or the process is a zombie.
 */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Skip the process name, which can contain any character. Field 3 is the state, field 22 the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? 'null' : String(fields[19]);
  } catch {
    return 'null';
  }
}
