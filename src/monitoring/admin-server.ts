import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { createServer } from '../http/server/server.ts';
import { throttleWarning } from '../throttle-warning.ts';
import type { ReadinessReport } from './readiness.ts';

interface AdminView {
  readonly readiness: { read(): Promise<ReadinessReport> };
  readonly metrics: Pick<Registry, 'metrics'>;
}

/**
 * Admin clients are few: some scrapers, probes and load balancers, and an operator. `serving.ts` reserves a
 * file descriptor for each of these connections, so they never take one from partners.
 */
export const MAX_ADMIN_CONNECTIONS = 32;

/** Admin clients are on a nearby network, so short timeouts are safe. An idle connection soon makes room for others. */
const TIMEOUTS = {
  headersTimeout: 3_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 500,
};

/** A connection whose client does not read its response is closed after this. */
const IDLE_TIMEOUT_MS = 10_000;

/**
 * Serves `/livez`, `/readyz` and `/metrics` on a separate port, not for partners.
 *
 * @param name the configured host, which requests can name. Any other Host must be an IP address or `localhost`: a web
 *   page whose host name resolves to this address can make a browser send requests here (DNS rebinding).
 * @param address what the name resolves to.
 * @param port 0 lets the system choose.
 * @throws the system's error if it cannot listen.
 */
export async function startAdminServer(
  { name, address, port }: { name: string; address: string; port: number },
  logger: Pick<Logger, 'error' | 'warn'>,
) {
  let view: AdminView | null = null;
  const warnOfHost = throttleWarning((requests) =>
    logger.warn(
      { requests },
      'requests to the admin port are refused with 421: their Host is not an IP address, "localhost" or PDS_ADMIN_HOST',
    ),
  );
  const server = createServer(TIMEOUTS, (request, response) => {
    if (!isOwnHost(request.headers.host, name)) {
      warnOfHost();
      response.writeHead(421, { 'content-length': 0, connection: 'close' }).end();
      return;
    }
    respond(view, request, response).catch((error: unknown) => {
      logger.error({ err: error }, 'an admin request failed');
      sendJson(response, 500, { error: 'internal error: see the log' });
    });
  });
  server.maxConnections = MAX_ADMIN_CONNECTIONS;
  server.timeout = IDLE_TIMEOUT_MS;
  const warnOfDrop = throttleWarning((refused) => {
    const details = { refused, open: MAX_ADMIN_CONNECTIONS };
    logger.warn(details, 'connections to the admin port are refused: too many are open');
  });
  server.on('drop', warnOfDrop);
  server.listen(port, address);
  await once(server, 'listening');
  const { address: bound, port: chosen, family } = server.address() as AddressInfo;
  return {
    origin: `http://${family === 'IPv6' ? `[${bound}]` : bound}:${chosen}`,
    /** Switches to a view. Until the first call, the service reports that it is starting. */
    show: (next: AdminView) => void (view = next),
    /** Closes it immediately: a request cut off here loses nothing. */
    async close(): Promise<void> {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Whether a Host header names this server. HTTP/1.0 clients, which send none, are not browsers. */
function isOwnHost(header: string | undefined, name: string): boolean {
  if (header === undefined) return true;
  const host = header.replace(/:\d*$/, '').toLowerCase();
  const isIpv6 = host.startsWith('[') && host.endsWith(']') && isIP(host.slice(1, -1)) === 6;
  return isIpv6 || isIP(host) === 4 || host === 'localhost' || host === name.toLowerCase();
}

async function respond(view: AdminView | null, { method, url = '/' }: IncomingMessage, response: ServerResponse) {
  if (method !== 'GET' && method !== 'HEAD')
    return sendJson(response, 405, { error: 'only GET and HEAD are supported' });
  switch (url.split('?')[0]) {
    case '/livez':
      // A response proves that the event loop is running.
      return sendJson(response, 200, { status: 'alive' });
    case '/readyz': {
      const report = (await view?.readiness.read()) ?? { reasons: ['starting'], degradations: [] };
      const isReady = report.reasons.length === 0;
      return sendJson(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not ready', ...report });
    }
    case '/metrics':
      return send(response, 200, Registry.PROMETHEUS_CONTENT_TYPE, (await view?.metrics.metrics()) ?? '');
    default:
      return sendJson(response, 404, { error: 'not found: this port serves /livez, /readyz and /metrics' });
  }
}

function sendJson(response: ServerResponse, status: number, content: object): ServerResponse {
  return send(response, status, 'application/json', `${JSON.stringify(content)}\n`);
}

function send(response: ServerResponse, status: number, type: string, body: string): ServerResponse {
  return response
    .writeHead(status, {
      'content-type': type,
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      ...(status === 405 && { allow: 'GET, HEAD' }),
    })
    .end(body);
}
