import { readFileSync } from 'node:fs';
import type { Config } from '../config.ts';
import { warn, type Finding } from './finding.ts';

const about = 'settings';

/** Of Linux 5.14 and newer, for IPv6 too. */
const KERNEL_SETTING = 'net.ipv4.tcp_migrate_req';

/** Reports what a port that several processes share still needs. */
export function checkSharedPort({ reusePort, redisUrl }: Pick<Config, 'reusePort' | 'redisUrl'>): Finding[] {
  if (!reusePort) return [];
  const findings: Finding[] = [];
  if (redisUrl === null) {
    const message =
      'PDS_REUSE_PORT without PDS_REDIS_URL: each process counts requests by itself, so a partner can use its limit ' +
      'once per process';
    findings.push(warn(about, message, 'Set PDS_REDIS_URL, or divide the limits by the number of processes.'));
  }
  if (readKernelSetting() === '0') {
    const message = `${KERNEL_SETTING} is 0: connections that a process has not accepted when it stops are reset`;
    findings.push(
      warn(about, message, 'Set it to 1, in a file in /etc/sysctl.d (docs/operators/several-processes.md).'),
    );
  }
  return findings;
}

/** Null if the system does not have it. */
function readKernelSetting(): string | null {
  try {
    return readFileSync(`/proc/sys/${KERNEL_SETTING.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    return null;
  }
}
