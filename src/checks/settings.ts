import { readFileSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import type { Config } from '../config.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

/** Reports valid settings that may be unintended; reading them has already refused invalid ones. */
export function checkSettings(config: Config): Finding[] {
  const about = 'settings';
  const { environment, host, port, adminHost, adminPort, trustedProxies, redisUrl } = config;
  const findings: Finding[] = [];
  if (adminPort !== 0 && adminPort === port && adminHost === host) {
    const message = `the API and the admin server cannot both use ${host}:${port}`;
    findings.push(fail(about, message, 'Choose another PDS_ADMIN_PORT.'));
  }
  const isLoopback = ipaddr.isValid(host) ? ipaddr.process(host).range() === 'loopback' : host === 'localhost';
  if (environment === 'dev' && !isLoopback) {
    const message = `PDS_HOST is ${host} in dev, where the public key of --demo works`;
    findings.push(warn(about, message, 'Set PDS_ENVIRONMENT, or listen on 127.0.0.1.'));
  }
  const everyone = trustedProxies.filter((network) => network.endsWith('/0'));
  if (everyone.length > 0) {
    const message = `PDS_TRUSTED_PROXIES has ${everyone.join(', ')}: any client can forge its address`;
    findings.push(warn(about, message, 'List only the addresses of your proxies.'));
  }
  if (config.reusePort && redisUrl === null) {
    const message =
      'PDS_REUSE_PORT without PDS_REDIS_URL: each process counts requests by itself, so a partner can use its limit ' +
      'once per process';
    findings.push(warn(about, message, 'Set PDS_REDIS_URL, or divide the limits by the number of processes.'));
  }
  if (config.reusePort && readKernelSetting() === '0') {
    const message = `${KERNEL_SETTING} is 0: connections that a process has not accepted when it stops are reset`;
    const advice = 'Set it to 1, in a file in /etc/sysctl.d (docs/operators/several-processes.md).';
    findings.push(warn(about, message, advice));
  }
  const counting = redisUrl === null ? 'rate limits counted by each service' : 'rate limits counted in Redis';
  const ports = `API at ${host}:${port}, admin server at ${adminHost}:${adminPort}`;
  return [ok(about, `environment ${environment}, ${ports}, ${counting}`), ...findings];
}

/** Of Linux 5.14 and newer, for IPv6 too. */
const KERNEL_SETTING = 'net.ipv4.tcp_migrate_req';

/** Null if the system does not have it. */
function readKernelSetting(): string | null {
  try {
    return readFileSync(`/proc/sys/${KERNEL_SETTING.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    return null;
  }
}
