import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A request that reached the proxy, and the status of its response. */
export interface Passed {
  readonly target: string;
  readonly isConditional: boolean;
  readonly authorization: string | undefined;
  /** Null if there was no response, or not yet. */
  status: number | null;
}

/** How the proxy treats a request. Without any of these, it forwards it. */
export interface Interception {
  /** Resets the client's connection after this many bytes of the response. */
  readonly cutAfter?: number;
  /** Sends this in place of the service's response. */
  readonly respond?: string;
  /** Passes another target. */
  readonly target?: string;
  /** Runs once the first bytes of the response have passed. */
  readonly during?: () => unknown;
}

/** @param index 0 for the first request. */
export type Intercept = (request: Passed, index: number) => Interception | Promise<Interception>;

/**
 * A TCP proxy between a client and the service. It can reset connections at any byte, and act at any request. Each
 * connection has one request, so that each can be told apart.
 */
export class InterceptingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The service's current port. */
  servicePort: number;
  passed: Passed[] = [];
  #intercept: Intercept | null = null;
  #index = 0;

  private constructor(servicePort: number) {
    this.servicePort = servicePort;
    this.#server = createServer((client) => void this.#serve(this.#track(client)));
  }

  static async start(servicePort = 0): Promise<InterceptingProxy> {
    const proxy = new InterceptingProxy(servicePort);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sets what happens to requests, counted from here on; null for nothing. Forgets those that have passed. */
  intercept(intercept: Intercept | null): void {
    this.#intercept = intercept;
    this.#index = 0;
    this.passed = [];
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #track(socket: Socket): Socket {
    this.#sockets.add(socket);
    // A reset is what this proxy is for.
    return socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
  }

  async #serve(client: Socket): Promise<void> {
    const head = await readHead(client);
    if (head === null) return;
    const [, target = ''] = head.split(' ');
    const headerOf = (name: string): string | undefined => new RegExp(`^${name}: (.*)\r$`, 'im').exec(head)?.[1];
    const passed: Passed = {
      target,
      isConditional: headerOf('if-none-match') !== undefined,
      authorization: headerOf('authorization'),
      status: null,
    };
    this.passed.push(passed);
    const { cutAfter = Infinity, respond, during, ...changed } = (await this.#intercept?.(passed, this.#index++)) ?? {};
    if (respond !== undefined) {
      client.end(respond);
      return;
    }
    if (cutAfter === 0) {
      client.resetAndDestroy();
      return;
    }
    const service = this.#track(connect(this.servicePort, '127.0.0.1'));
    service.on('error', () => client.resetAndDestroy());
    client.on('close', () => service.destroy());
    service.write(
      head.replace(target, changed.target ?? target).replace(/^connection: .*\r\n/im, 'connection: close\r\n'),
    );
    let sent = 0;
    service.on('data', (chunk: Buffer) => {
      passed.status ??= Number(chunk.toString('latin1', 9, 12));
      if (sent === 0) void during?.();
      const part = chunk.subarray(0, cutAfter - sent);
      sent += part.length;
      client.write(part, () => {
        if (sent >= cutAfter) client.resetAndDestroy();
      });
    });
    service.on('end', () => client.end());
  }
}

/** The head of a request, which has no body; null if the client hung up. */
async function readHead(client: Socket): Promise<string | null> {
  let head = '';
  while (!head.includes('\r\n\r\n')) {
    const chunk = client.read() as Buffer | null;
    if (chunk !== null) head += chunk.toString('latin1');
    else if (client.readableEnded || client.destroyed) return null;
    else await Promise.race([once(client, 'readable'), once(client, 'close'), once(client, 'end')]).catch(() => null);
  }
  return head;
}
