import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * How each response is cut: `reset` and `closed` break its framing, directly or behind a proxy that closes its connection
 * normally; `complete` is a proxy that passes the part as a whole response, which only the body can show.
 */
export type CutEnd = 'reset' | 'closed' | 'complete';

/** The fault that every response has. */
export type Fault =
  | { readonly status: number; readonly code: string }
  | { readonly cutAt: (body: Buffer) => number; readonly end: CutEnd };

/** A server on a socket in front of the service, which passes its responses unless it has a fault. */
export class CuttingServer {
  readonly #service: string;
  readonly #server: Server;
  #port = 0;
  fault: Fault | null = null;
  /** Requests of other targets have no fault. */
  faultyTargets = /./;
  /** The requests since the last fault was set. */
  requests = 0;
  /** The length of the last part of a response. */
  lastCut: number | null = null;

  private constructor(service: string) {
    this.#service = service;
    this.#server = createServer((request, response) => {
      this.requests++;
      this.#respond(request, response).catch(() => response.destroy());
    });
  }

  static async start(service: string): Promise<CuttingServer> {
    const server = new CuttingServer(service);
    await server.open();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens, again at the same port if it was closed. */
  async open(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Refuses connections from now on. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #respond({ url: target = '', headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = this.faultyTargets.test(target) ? this.fault : null;
    if (fault !== null && 'status' in fault) {
      const error = { code: fault.code, message: `This is ${fault.code}.`, request_id: 'req_test' };
      response.writeHead(fault.status, { 'content-type': 'application/json', 'retry-after': '1' });
      response.end(JSON.stringify({ error }));
      return;
    }
    const sent = Object.entries({ ...headers, 'accept-encoding': 'identity' }).filter(([name]) =>
      ['authorization', 'accept', 'accept-encoding', 'if-none-match'].includes(name),
    );
    const passed = await fetch(`${this.#service}${target}`, { headers: sent as [string, string][] });
    const body = Buffer.from(await passed.arrayBuffer());
    const own = Object.fromEntries(
      [...passed.headers].filter(([name]) => !['connection', 'keep-alive', 'transfer-encoding'].includes(name)),
    );
    if (fault === null) {
      response.writeHead(passed.status, own).end(body);
      return;
    }
    const part = body.subarray(0, fault.cutAt(body));
    this.lastCut = part.length;
    // The stream of a list has no last line of its own: that it is complete is known from the framing alone.
    const isList = /ndjson|csv/.test(own['content-type'] ?? '') && !target.startsWith('/v1/changes');
    if (fault.end === 'complete' && !isList) {
      response.writeHead(passed.status, { ...own, 'content-length': part.length, connection: 'close' }).end(part);
      return;
    }
    response.writeHead(passed.status, own);
    response.flushHeaders();
    if (part.length > 0) await new Promise((resolve) => response.write(part, resolve));
    if (fault.end === 'reset') response.socket?.resetAndDestroy();
    else response.socket?.end();
  }
}
