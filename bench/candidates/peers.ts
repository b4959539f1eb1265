import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { note } from '../measure/progress.ts';

/* Products that teams use instead. */

export const DIRECTUS = 'Directus';
export const PLATFORMATIC = 'Platformatic DB';
export const POSTGRAPHILE = 'PostGraphile';

/** The folder in which the peers are installed. */
export const PEERS_FOLDER = fileURLToPath(new URL('../peers/', import.meta.url));

/**
 * Installs the peers unless they are already installed.
 *
 * @throws Error with npm's output if it fails.
 */
export async function installPeers(): Promise<void> {
  if (existsSync(join(PEERS_FOLDER, 'node_modules', '.package-lock.json'))) return;
  note('installing the peers; this takes some minutes');
  await installPackages(PEERS_FOLDER);
}

/** Installs the packages of a folder by its lock file. @throws Error with npm's output if it fails. */
export async function installPackages(folder: string, ...options: string[]): Promise<void> {
  const env = { ...process.env, PATH: pathWithoutPackages() };
  await promisify(execFile)('npm', ['ci', ...options], { cwd: folder, env });
}

/** The system's Node.js, for which npm builds native modules; the current one if there is none. */
export function installedNode(): string {
  const folder = pathWithoutPackages()
    .split(delimiter)
    .find((candidate) => existsSync(join(candidate, 'node')));
  return folder === undefined ? process.execPath : join(folder, 'node');
}

function pathWithoutPackages(): string {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes(`${sep}node_modules${sep}`))
    .join(delimiter);
}
