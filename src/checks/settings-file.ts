import { statSync } from 'node:fs';
import { warn, type Finding } from './finding.ts';

const OTHERS_CAN_READ = 0o004;

/**
 * Reports a settings file that every user of the machine can read, although it holds a password.
 *
 * @param findSecrets returns the names of the variables whose values in the file hold a password. Not called for a
 *   pipe, which can be read only once.
 */
export function checkSettingsFile(file: string, findSecrets: () => readonly string[]): Finding[] {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() !== true || (stats.mode & OTHERS_CAN_READ) === 0) return [];
  const secrets = findSecrets();
  if (secrets.length === 0) return [];
  const message = `every user of this machine can read ${file}, which holds a password (${secrets.join(', ')})`;
  return [warn('settings', message, `Run "chmod o= ${file}".`)];
}
