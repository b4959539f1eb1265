import { fileURLToPath } from 'node:url';
import type { HttpRequest } from './load.ts';
import { readOutput } from './output.ts';

const PROGRAM = fileURLToPath(new URL('one-at-a-time-process.ts', import.meta.url));

export interface OneAtATimeOptions {
  port: number;
  headers: Readonly<Record<string, string>>;
  requests: readonly HttpRequest[];
}

export interface Latencies {
  /** Milliseconds from asking to the last byte, in the order of the requests. */
  milliseconds: number[];
  failures: number;
}

/** Asks each request once, the next when the last is answered, over one connection. */
export async function askOneAtATime(options: OneAtATimeOptions): Promise<Latencies> {
  return JSON.parse(await readOutput(process.execPath, [PROGRAM], {}, JSON.stringify(options))) as Latencies;
}
