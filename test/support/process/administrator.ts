import { get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** The response of `/readyz`. */
export interface Readiness {
  readonly status: number;
  readonly reasons: string[];
  readonly degradations: string[];
}

/** A response from the admin port. */
export interface AdminResponse {
  readonly status: number;
  readonly type: string | undefined;
  readonly body: string;
}

/** Sends a request to a port on 127.0.0.1 over a new connection. `host` overrides the Host header. */
export async function getAdmin(port: number, path: string, method = 'GET', host?: string): Promise<AdminResponse> {
  const headers = host === undefined ? {} : { host };
  const sent = get({ port, host: '127.0.0.1', path, method, headers, agent: false });
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, type: response.headers['content-type'], body: await text(response) };
}

export async function readReadiness(port: number): Promise<Readiness> {
  const { status, body } = await getAdmin(port, '/readyz');
  return { ...(JSON.parse(body) as Omit<Readiness, 'status'>), status };
}

/** The samples of a scrape, keyed by name and labels exactly as written: `pds_ready` → 1. */
export async function scrape(port: number): Promise<ReadonlyMap<string, number>> {
  const { body } = await getAdmin(port, '/metrics');
  const lines = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}
