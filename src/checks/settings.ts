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
    const message = `partners and administrators cannot both be answered at ${host}:${port}`;
    findings.push(fail(about, message, 'choose another PDS_ADMIN_PORT'));
  }
  if (environment === 'dev' && !isLoopback(host)) {
    const message = `PDS_HOST is ${host} in dev, where the published key of --demo works`;
    findings.push(warn(about, message, 'set PDS_ENVIRONMENT, or listen on 127.0.0.1'));
  }
  const everyone = trustedProxies.filter((network) => network.endsWith('/0'));
  if (everyone.length > 0) {
    const message = `PDS_TRUSTED_PROXIES has ${everyone.join(', ')}: anyone can choose the address that counts as his`;
    findings.push(warn(about, message, 'name the proxies alone'));
  }
  const counting = redisUrl === null ? 'limits are counted by each service alone' : 'limits are counted in Redis';
  const places = `partners at ${host}:${port}, administrators at ${adminHost}:${adminPort}`;
  return [ok(about, `environment ${environment}, ${places}, ${counting}`), ...findings];
}

function isLoopback(host: string): boolean {
  const version = isIP(host);
  return version === 0 ? host === 'localhost' : LOOPBACK.check(host, version === 4 ? 'ipv4' : 'ipv6');
}
