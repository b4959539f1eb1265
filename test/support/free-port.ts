import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/**
 * Below the ephemeral ranges (from 32768, or 49152), from which an outgoing connection could take the port while its
 * server restarts.
 */
const LASTING = { first: 20_000, last: 32_000 };

/** A port of 127.0.0.1 that is free now; another process can still take it first. */
export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** A port of 127.0.0.1 for a server that is restarted and needs the same port again. */
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
