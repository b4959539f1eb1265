import { execFile, execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { databaseForAllTests } from '../support/database.ts';
import { makePartner } from '../support/partners.ts';
import { restartServices, type Restarts } from './restart-services.ts';

const PROGRAM = fileURLToPath(new URL('restart-services.ts', import.meta.url));

/** Lets Linux hand over connections that a process which stops has not accepted. */
const NETWORK = 'ip link set lo up && echo 1 > /proc/sys/net/ipv4/tcp_migrate_req';

const NO_NETWORK = whyNoNetwork();

let key: string;

const made = databaseForAllTests();
beforeAll(async () => {
  ({ key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true }));
});

/** Why no network with its own settings can be created, or null if it can: that takes root. */
function whyNoNetwork(): string | null {
  try {
    execFileSync('unshare', ['--net', 'sh', '-c', NETWORK], { stdio: 'pipe' });
    return null;
  } catch (error) {
    return `no network can be created here, which takes root and Linux 5.14: ${String(error)}`;
  }
}

/** @param sharing how many of the processes got a share of the requests for certain. */
function expectNothingLost({ responses, failures }: Restarts, sharing: number): void {
  expect(failures).toEqual([]);
  expect(Math.min(...responses.slice(0, sharing))).toBeGreaterThan(0);
}

describe('restarting each of three services on one port loses no request', { timeout: 120_000 }, () => {
  test('of clients that keep their connections', async () => {
    // A process that starts later gets a connection only if another closes one.
    expectNothingLost(await restartServices(made.config, key, 'kept'), 3);
  });

  test.skipIf(NO_NETWORK !== null)(`of clients with a connection for each request ${NO_NETWORK ?? ''}`, async () => {
    const program = [process.execPath, PROGRAM, JSON.stringify(made.config), key];
    const { stdout } = await promisify(execFile)('unshare', [
      '--net',
      'sh',
      '-c',
      `${NETWORK} && "$@"`,
      'sh',
      ...program,
    ]);
    expectNothingLost(JSON.parse(stdout) as Restarts, 6);
  });
});
