import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { startAdminServer, type AdminServer } from '../monitoring/admin-server.ts';
import { CommandError } from './command-error.ts';
import { ADMIN_PORT, describeListenError } from './failure.ts';
import { resolveHost } from './serving.ts';

/**
 * Opens the admin port before anything else, so that readiness probes get a response from the start.
 *
 * @throws CommandError if it cannot be opened.
 */
export async function openAdminPort(config: Config, logger: Logger): Promise<AdminServer> {
  const { adminHost, adminPort, host, port } = config;
  if (adminPort !== 0 && adminPort === port && adminHost === host) {
    throw new CommandError(
      `partners and administrators cannot both be answered at ${host}:${port}: choose another port with PDS_ADMIN_PORT, or with --port`,
    );
  }
  const address = await resolveHost(adminHost, 'PDS_ADMIN_HOST');
  let admin: AdminServer;
  try {
    admin = await startAdminServer({ name: adminHost, address, port: adminPort }, logger);
  } catch (error) {
    throw error instanceof Error ? new CommandError(describeListenError(error, ADMIN_PORT), { cause: error }) : error;
  }
  logger.info(`administrators find /livez, /readyz and /metrics at ${admin.origin}`);
  return admin;
}
