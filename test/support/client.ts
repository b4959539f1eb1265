import { Agent, request as requestHttp, type IncomingHttpHeaders } from 'node:http';
import { Agent as TlsAgent, request as requestHttps, type AgentOptions } from 'node:https';

/** A response. The body is text, not decompressed. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface GetOptions {
  /** Without it, the request carries no API key. */
  key?: string;
  headers?: Record<string, string>;
  method?: string;
}

/** Requests a path and resolves for any status; rejects if there is no response. */
export type Get = (path: string, options?: GetOptions) => Promise<HttpResponse>;

/** A partner's HTTP client, with keep-alive connections. */
export interface Client {
  readonly get: Get;
  close(): void;
}

/**
 * Uses `node:http`: `fetch` would hide the content encoding, and takes twice as long.
 *
 * @param tls for `https:`, the trusted CA.
 */
export function createClient(url: string, tls: AgentOptions = {}): Client {
  const isTls = url.startsWith('https:');
  const agent = isTls ? new TlsAgent({ keepAlive: true, ...tls }) : new Agent({ keepAlive: true });
  const request = isTls ? requestHttps : requestHttp;
  const get: Get = (path, { key, headers, method = 'GET' } = {}) =>
    new Promise((resolve, reject) => {
      const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
      const sent = request(url + path, { agent, method, headers: { ...authorization, ...headers } }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const body = Buffer.concat(chunks).toString('utf8');
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
        });
      });
      sent.on('error', reject).end();
    });
  return { get, close: () => agent.destroy() };
}

/** A record as a list serves it. Certifications have an abbreviation in place of the id. */
export type ListedRecord = Record<string, unknown> & { id: string };

/** The records of pages. */
export function dataOf(...pages: readonly HttpResponse[]): ListedRecord[] {
  return pages.flatMap(({ body }) => (JSON.parse(body) as { data: ListedRecord[] }).data);
}

export function idsOf(...pages: readonly HttpResponse[]): string[] {
  return dataOf(...pages).map(({ id }) => id);
}

/** The cursor of the page after this one, or null if it is the last. */
export function nextCursorOf({ body }: HttpResponse): string | null {
  return (JSON.parse(body) as { meta: { next_cursor: string | null } }).meta.next_cursor;
}

/** Fetches all pages of a list, cycling through `limits`. Stops after the first response that is not a 200. */
export async function listAllPages(
  get: Get,
  path: string,
  key: string,
  limits: readonly number[],
): Promise<HttpResponse[]> {
  const pages: HttpResponse[] = [];
  let cursor: string | null = null;
  do {
    const limit = limits[pages.length % limits.length];
    const parameters = new URLSearchParams({ limit: String(limit), ...(cursor !== null && { cursor }) });
    const answer = await get(`${path}${path.includes('?') ? '&' : '?'}${parameters.toString()}`, { key });
    pages.push(answer);
    if (answer.status !== 200) break;
    cursor = nextCursorOf(answer);
  } while (cursor !== null);
  return pages;
}
