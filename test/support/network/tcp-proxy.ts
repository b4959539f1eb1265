import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A faulty network: a proxy on 127.0.0.1 between a client and a server. */
export interface TcpProxy {
  readonly port: number;
  /** Holds back all bytes in both directions without closing anything, like a network that drops packets. */
  freeze(): void;
  /** Forwards again, and delivers what was held back. */
  thaw(): void;
  /** Blackholes the current connections for good, like a router that lost their state; new ones work. */
  strand(): void;
  /** Closes all connections, and refuses new ones until `thaw`. */
  cut(): void;
  /** Sends new connections to another port, like a DNS name that moves. Closes the old ones unless `keepOld`. */
  moveTo(port: number, options?: { keepOld: boolean }): void;
  close(): Promise<void>;
}

/** Forwards connections to a port of 127.0.0.1, or of `host`, each way after a delay. The caller must close it. */
export async function startTcpProxy(target: { port: number; host?: string; delayMs?: number }): Promise<TcpProxy> {
  let { port } = target;
  const { delayMs = 0 } = target;
  const pairs = new Set<readonly [Socket, Socket]>();
  const stranded: Socket[] = [];
  let state: 'open' | 'frozen' | 'cut' = 'open';
  const server = createServer((client) => {
    if (state === 'cut') {
      client.destroy();
      return;
    }
    const upstream = connect(port, target.host ?? '127.0.0.1');
    const pair = [client, upstream] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [upstream, client] as const]) {
      from.setNoDelay(true);
      from.on('error', () => undefined);
      from.on('close', () => {
        to.destroy();
        pairs.delete(pair);
      });
      // Timers of the same delay end in order.
      from.on('data', (bytes) => (delayMs === 0 ? to.write(bytes) : setTimeout(() => to.write(bytes), delayMs)));
      if (state === 'frozen') from.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  const end = (): void => {
    for (const socket of [...pairs].flat().concat(stranded)) socket.destroy();
  };
  return {
    port: address.port,
    freeze() {
      state = 'frozen';
      for (const pair of pairs) for (const socket of pair) socket.pause();
    },
    thaw() {
      state = 'open';
      for (const pair of pairs) for (const socket of pair) socket.resume();
    },
    strand() {
      for (const pair of pairs) {
        for (const socket of pair) socket.pause();
        pairs.delete(pair);
        stranded.push(...pair);
      }
    },
    cut() {
      state = 'cut';
      end();
    },
    moveTo(other, { keepOld } = { keepOld: false }) {
      port = other;
      if (!keepOld) end();
    },
    async close() {
      end();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}
