import { statSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import type { Config } from '../config.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

const OTHERS_CAN_READ = 0o004;

/** Reports valid settings that may be unintended; reading them has already refused invalid ones. */
export function checkSettings(config: Config): Finding[] {
  const about = 'settings';
  const { environment, host, port, adminHost, adminPort, trustedProxies, redisUrl } = config;
  const findings: Finding[] = [];
  if (adminPort !== 0 && adminPort === port && adminHost === host) {
    const message = `the API and the admin server cannot both use ${host}:${port}`;
    findings.push(fail(about, message, 'Choose another PDS_ADMIN_PORT.'));
  }
  if (environment === 'dev' && !isLoopback(host)) {
    const message = `PDS_HOST is ${host} in dev, where the public key of --demo works`;
    findings.push(warn(about, message, 'Set PDS_ENVIRONMENT, or listen on 127.0.0.1.'));
  }
  const everyone = trustedProxies.filter((network) => network.endsWith('/0'));
  if (everyone.length > 0) {
    const message = `PDS_TRUSTED_PROXIES has ${everyone.join(', ')}: any client can forge its address`;
    findings.push(warn(about, message, 'List only the addresses of your proxies.'));
  }
  const counting = redisUrl === null ? 'rate limits counted by each service' : 'rate limits counted in Redis';
  const ports = `API at ${host}:${port}, admin server at ${adminHost}:${adminPort}`;
  return [ok(about, `environment ${environment}, ${ports}, ${counting}`), ...findings];
}

function isLoopback(host: string): boolean {
  const version = isIP(host);
  return version === 0 ? host === 'localhost' : LOOPBACK.check(host, version === 4 ? 'ipv4' : 'ipv6');
}

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
