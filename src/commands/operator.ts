import { hostname, userInfo } from 'node:os';
import type { Config } from '../config.ts';
import type { Operator } from '../database/audit.ts';

/** Names are cut at this length: the environment could make them any length. */
const MAX_NAME_LENGTH = 100;

/** The user running this process, according to the operating system. */
export function operatorOfProcess({ auditRetentionDays }: Config): Operator {
  const who = `${nameOfUser()}@${hostname()}`;
  // Only a hint: the user can set this environment variable to any name.
  const behindSudo = process.env['SUDO_USER'];
  return {
    name: behindSudo === undefined ? who : `${who} (sudo by ${printable(behindSudo)})`,
    auditRetentionDays,
  };
}

function nameOfUser(): string {
  try {
    return printable(userInfo().username);
  } catch {
    // A container can run as a UID without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Replaces whitespace and control characters, so that a name stays within its line and column. */
function printable(name: string): string {
  return name.replace(/[\p{C}\p{Z}]+/gu, '_').slice(0, MAX_NAME_LENGTH);
}
