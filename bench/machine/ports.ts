import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { StartedProcess } from './processes.ts';

const ANSWER_TIMEOUT_MS = 60_000;

/** Returns a port that is currently free. */
export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/**
 * Waits until a server responds, with any status.
 *
 * @throws Error if its process exits, or after 60 seconds.
 */
export async function waitForAnswer(url: string, server: StartedProcess): Promise<void> {
  const deadline = Date.now() + ANSWER_TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (!server.isRunning()) throw new Error(`the server of ${url} ended by itself`);
    try {
      await fetch(url, { signal: AbortSignal.timeout(2_000) }).then((answer) => answer.arrayBuffer());
      return;
    } catch {
      await delay(50);
    }
  }
  throw new Error(`nothing answers at ${url}`);
}
