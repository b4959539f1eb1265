import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import type { ReadinessReport } from './readiness.ts';

/** What is shown to administrators. */
export interface AdminView {
  readReadiness(): Promise<ReadinessReport>;
  /** In the text format of Prometheus. */
  readMetrics(): Promise<string>;
}

/** Answers `/livez`, `/readyz` and `/metrics`, on a port of its own that is none of the partners'. */
export interface AdminServer {
  /** Such as `http://127.0.0.1:8081`. */
  readonly origin: string;
  /** What is shown from now on. Before the first, the service is starting. */
  show(view: AdminView): void;
  /** Ends it at once: whoever asks at that moment has lost nothing. */
  close(): Promise<void>;
}

const STARTING: AdminView = {
  readReadiness: async () => ({ reasons: ['starting'], degradations: [] }),
  readMetrics: async () => '',
};

/** Those who ask are few and near: a connection that takes longer is none of theirs. */
const REQUEST_TIMEOUT_MS = 10_000;

interface AdminAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/**
 * Starts it.
 *
 * @param port 0 lets the system choose.
 * @throws what the system says where it cannot listen.
 */
export async function startAdminServer(
  host: string,
  port: number,
  logger: Pick<Logger, 'error'>,
): Promise<AdminServer> {
  let view = STARTING;
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    answer(view, request).then(
      (found) => send(response, found),
      (error: unknown) => {
        logger.error({ err: error }, 'what an administrator asked for could not be read');
        send(response, json(500, { error: 'this could not be read; the log says why' }));
      },
    );
  });
  server.listen(port, host);
  await once(server, 'listening');
  const { address, port: chosen, family } = server.address() as AddressInfo;
  return {
    origin: `http://${family === 'IPv6' ? `[${address}]` : address}:${chosen}`,
    show(next) {
      view = next;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(view: AdminView, { method, url = '/' }: IncomingMessage): Promise<AdminAnswer> {
  const [path] = url.split('?');
  if (method !== 'GET' && method !== 'HEAD') return json(405, { error: 'only GET and HEAD are answered here' });
  switch (path) {
    case '/livez':
      // Whoever gets this answer knows that the event loop turns.
      return json(200, { status: 'alive' });
    case '/readyz': {
      const { reasons, degradations } = await view.readReadiness();
      return reasons.length === 0
        ? json(200, { status: 'ready', reasons, degradations })
        : json(503, { status: 'not ready', reasons, degradations });
    }
    case '/metrics':
      return { status: 200, type: Registry.PROMETHEUS_CONTENT_TYPE, body: await view.readMetrics() };
    default:
      return json(404, { error: 'here are /livez, /readyz and /metrics' });
  }
}

function json(status: number, content: object): AdminAnswer {
  return { status, type: 'application/json', body: `${JSON.stringify(content)}\n` };
}

function send(response: ServerResponse, { status, type, body }: AdminAnswer): void {
  response
    .writeHead(status, {
      'content-type': type,
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      ...(status === 405 && { allow: 'GET, HEAD' }),
    })
    .end(body);
}
