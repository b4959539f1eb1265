import { BlockList, isIP } from 'node:net';
import type { Config } from '../config.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

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
