import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('clients-process.ts', import.meta.url));

/**
 * A request, and the digest of its expected response. `{since}` in the path is replaced by a timestamp before all
 * imports.
 */
export interface ExpectedResponse {
  readonly path: string;
  readonly digest: string;
}

/** The task of a process of clients. */
export interface ClientsTask {
  readonly port: number;
  readonly key: string;
  /** The number of concurrent clients. */
  readonly clients: number;
  /** The pause between a response and the client's next request. */
  readonly pauseMs: number;
  readonly seconds: number;
  readonly expected: readonly ExpectedResponse[];
}

/** The results of a process of clients. */
export interface ClientsReport {
  /** The number of responses by status, and of failures by kind. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Latencies of responses with status 200. */
  readonly accepted: { readonly p50Ms: number; readonly p99Ms: number; readonly longestMs: number };
  /** Unexpected responses. */
  readonly problems: readonly string[];
}

/** Runs clients in a separate process, so that they do not compete with the test for an event loop. */
export async function runClients(task: ClientsTask): Promise<ClientsReport> {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(task)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the clients ended with ${code}`);
  return JSON.parse(Buffer.concat(chunks).toString()) as ClientsReport;
}

/** The digest of a response without its cursor, which depends on the timestamp in the request. */
export function digestOf(body: string): string {
  return createHash('sha256')
    .update(body.replace(/"next_cursor":"[^"]*"/, '"next_cursor":""'))
    .digest('hex');
}
