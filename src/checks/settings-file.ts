import { statSync } from 'node:fs';
import { warn, type Finding } from './finding.ts';

const OTHERS_CAN_READ = 0o004;

/**
 * Reports a settings file that every user of the machine can read, although it holds a password.
 *
 * @param secrets the names of the variables whose values in the file hold a password.
 */
export function checkSettingsFile(file: string, secrets: readonly string[]): Finding[] {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() !== true || (stats.mode & OTHERS_CAN_READ) === 0 || secrets.length === 0) return [];
  const message = `every user of this machine can read ${file}, which holds a password (${secrets.join(', ')})`;
  return [warn('settings', message, `Run "chmod o= ${file}".`)];
}
