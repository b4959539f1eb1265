import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('clients-process.ts', import.meta.url));

/** A question, and what its answer has to be. `{since}` in its path stands for an instant before all publications. */
export interface KnownQuestion {
  readonly path: string;
  readonly digest: string;
}

/** What a process of clients is told. */
export interface ClientsTask {
  readonly port: number;
  readonly key: string;
  /** How many ask at once. */
  readonly clients: number;
  /** Between an answer and the client's next question. */
  readonly pauseMs: number;
  readonly seconds: number;
  readonly questions: readonly KnownQuestion[];
}

/** What they saw. */
export interface ClientsReport {
  /** How many answers of each status, and how many failures of each kind. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Of the answers 200. */
  readonly accepted: { readonly p50Ms: number; readonly p99Ms: number; readonly longestMs: number };
  /** Answers that were not as they had to be. */
  readonly problems: readonly string[];
}

/** Runs clients in a process of their own, so that they do not wait for each other's test. */
export async function runClients(task: ClientsTask): Promise<ClientsReport> {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(task)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the clients ended with ${code}`);
  return JSON.parse(Buffer.concat(chunks).toString()) as ClientsReport;
}

/** Of an answer, but for its cursor: that belongs to the instant in the question. */
export function digestOf(body: string): string {
  return createHash('sha256')
    .update(body.replace(/"next_cursor":"[^"]*"/, '"next_cursor":""'))
    .digest('hex');
}
