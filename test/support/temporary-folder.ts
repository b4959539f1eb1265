import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';

const MEMORY = '/dev/shm';

/**
 * Puts the temporary files of this process and those that it starts into memory, if there is room and programs can run
 * from there: tests create thousands of databases, which can take ten times as long on a disk. Removes them at exit.
 */
export function useTemporaryFolderInMemory(): void {
  if (process.env['TMPDIR'] !== undefined || !isRoomy() || !runsPrograms()) return;
  const folder = mkdtempSync(`${MEMORY}/pds-tests-`);
  // PostgreSQL may run as another user.
  chmodSync(folder, 0o755);
  process.env['TMPDIR'] = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}

function isRoomy(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize > 8 * 1024 ** 3;
}

function runsPrograms(): boolean {
  const mounted = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .find(([, path]) => path === MEMORY);
  return mounted !== undefined && mounted[3]?.split(',').includes('noexec') === false;
}
