import { readFileSync } from 'node:fs';
import type { Config, DatabaseConfig } from '../config.ts';
import { byEngine, pathOf } from '../database/configured.ts';
import type { Clock } from '../timestamp.ts';
import { within, type Finding, fail, ok, warn } from './finding.ts';
import { checkPrimary, type PrimaryState, checkReplica } from './postgres.ts';
import { checkRedis } from './redis.ts';
import { checkFiles, checkSqlite } from './sqlite.ts';
import ipaddr from 'ipaddr.js';
import { displayUrlOf } from '../printable.ts';

/**
 * Checks everything that the service needs. Changes nothing, and always ends if `verifyIndex` does, however much hangs.
 *
 * @param describe formats an error of a database, without secrets.
 * @param verifyIndex called if the database can be read.
 * @param isFull whether to check SQLite's files in full.
 */
export async function runChecks(
  config: Config,
  clock: Clock,
  describe: (error: unknown, database: DatabaseConfig) => string,
  { verifyIndex, isFull }: { verifyIndex: (database: DatabaseConfig) => Promise<Finding[]>; isFull: boolean },
): Promise<Finding[]> {
  const { database, environment, replicaUrl, redisUrl } = config;
  const describeFound = (error: unknown): string => describe(error, database);
  const redis = redisUrl === null ? [] : within('redis', describeFound, () => checkRedis(redisUrl));
  let primary: PrimaryState | null = null;
  let isReadable = false as boolean;
  // SQLite's files are checked also if the check of the contents fails, since damage can be the reason.
  let files = pathOf(database);
  const found = await within('database', describeFound, () =>
    byEngine(database, {
      sqlite: async ({ path }) => {
        const checked = await checkSqlite(path, environment, clock);
        isReadable = checked.isReadable;
        if (!checked.isUsable) files = null;
        return checked.findings;
      },
      postgres: async ({ url }) => {
        const checked = await checkPrimary(url, environment, clock);
        primary = checked.state;
        isReadable = checked.state !== null;
        return checked.findings;
      },
    }),
  );
  const index = isReadable ? await verifyIndex(database) : [];
  const replica =
    replicaUrl === null
      ? []
      : await within(
          `replica ${displayUrlOf(replicaUrl)}`,
          (error) => describe(error, { engine: 'postgres', url: replicaUrl }),
          () => checkReplica(replicaUrl, primary),
        );
  const others = [...replica, ...(await redis)];
  // Last, since it blocks this thread, during which the timeouts of other checks would pass.
  const damage = files === null ? [] : await checkFiles(files, isFull);
  return [...checkSettings(config), ...found, ...damage, ...index, ...others];
}

/** Reports valid settings that may be unintended; reading them has already refused invalid ones. */
function checkSettings(config: Config): Finding[] {
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
