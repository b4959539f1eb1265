import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** Below what systems give to outgoing connections (from 32768, or 49152), which may take a port while its server restarts. */
const LASTING = { first: 20_000, last: 32_000 };

/** A port of the loopback that nobody listens on at this moment; another process may be faster to take it. */
export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** A port of the loopback for a server that is stopped and started, and wants to have it again. */
export async function findLastingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(LASTING.first, LASTING.last);
    const probe = createServer().listen(port, '127.0.0.1');
    try {
      await once(probe, 'listening');
    } catch {
      continue;
    }
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
