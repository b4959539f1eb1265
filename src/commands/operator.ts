import { hostname, userInfo } from 'node:os';
import type { Config } from '../config.ts';
import type { Operator } from '../database/audit.ts';

/** A name as long as this is nobody's; who sets the environment could make it any length. */
const LONGEST_NAME = 100;

/** Who runs this process, as far as the operating system says. */
export function operatorOfProcess({ auditRetentionDays }: Config): Operator {
  const who = `${nameOfUser()}@${hostname()}`;
  // It is in the environment, so that it is a hint; who may set it may also be who it names.
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
    // A container may run as a number that has no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** A name that cannot be taken for a line, or for other columns, where it is shown. */
function printable(name: string): string {
  return name.replace(/[\p{C}\p{Z}]+/gu, '_').slice(0, LONGEST_NAME);
}
