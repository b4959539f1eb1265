import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that passed through the proxy, and the status of its response. */
export interface Passed {
  readonly target: string;
  readonly isConditional: boolean;
  readonly authorization: string | undefined;
  /** Null if there was no response. */
  status: number | null;
}

/** An action at a certain request: before the service receives it, or after the response was sent. */
export interface Disturbance {
  /** 1 for the next request. */
  readonly atRequest: number;
  readonly moment: 'before' | 'after';
  readonly act: () => unknown;
}

/**
 * A proxy between a mirror and the service. It shrinks pages, so that a few records span many pages, and can trigger an
 * action at any request of a sync. Apart from spoiled cursors, it changes nothing else.
 */
export class SmallPages {
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: false });
  readonly #pageSize: number;
  /** The service's current port. */
  servicePort = 0;
  passed: Passed[] = [];
  /** From this request on, the first cursor is replaced by an invalid one; null for none. */
  spoilCursorAt: number | null = null;
  #disturbance: Disturbance | null = null;
  #count = 0;

  private constructor(pageSize: number) {
    this.#pageSize = pageSize;
    this.#server = createServer((received, reply) => void this.#pass(received, reply));
  }

  static async start(pageSize: number): Promise<SmallPages> {
    const proxy = new SmallPages(pageSize);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sets the action, counting requests from here on; null for none. */
  disturb(disturbance: Disturbance | null): void {
    this.#count = 0;
    this.#disturbance = disturbance;
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #pass(received: IncomingMessage, reply: ServerResponse): Promise<void> {
    this.#count += 1;
    const disturbance = this.#disturbance?.atRequest === this.#count ? this.#disturbance : null;
    if (disturbance?.moment === 'before') await disturbance.act();
    const { authorization } = received.headers;
    const isConditional = received.headers['if-none-match'] !== undefined;
    const passed: Passed = { target: received.url ?? '', isConditional, authorization, status: null };
    this.passed.push(passed);
    let path = passed.target.replace(/\blimit=100\b/, `limit=${this.#pageSize}`);
    if (this.spoilCursorAt !== null && this.#count >= this.spoilCursorAt && path.includes('cursor=')) {
      path = path.replace(/cursor=[^&]+/, 'cursor=spoiled');
      this.spoilCursorAt = null;
    }
    const sent = request({
      port: this.servicePort,
      host: '127.0.0.1',
      path,
      headers: received.headers,
      agent: this.#agent,
    });
    const fail = (): void => void received.socket.destroy();
    sent.on('error', fail).end();
    sent.on('response', (response: IncomingMessage) => {
      passed.status = response.statusCode ?? null;
      reply.writeHead(response.statusCode ?? 0, response.headers);
      response.on('error', fail).pipe(reply);
      if (disturbance?.moment === 'after') reply.on('finish', () => void disturbance.act());
    });
  }
}
