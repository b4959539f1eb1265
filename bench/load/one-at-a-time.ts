import { fileURLToPath } from 'node:url';
import type { HttpRequest } from './load.ts';
import { readOutput } from './output.ts';

const PROGRAM = fileURLToPath(new URL('one-at-a-time-process.ts', import.meta.url));

export interface OneAtATimeOptions {
  port: number;
  headers: Readonly<Record<string, string>>;
  requests: readonly HttpRequest[];
  /** Also requests the page after each page that has one. */
  withNextPages?: boolean;
  /** The port of the server's `hold-probe.ts`, if it has one. */
  holdPort?: number | null;
}

export interface TimedResponse {
  /** As requested; with ` (next page)` for the page after it. */
  request: string;
  status: number;
  /** From the request to the last byte. */
  milliseconds: number;
  /** Longest hold of the server's event loop since the response before; null without a probe. */
  holdMs: number | null;
}

/** Sends each request once, the next after the response to the last, over one connection. */
export async function askOneAtATime(options: OneAtATimeOptions): Promise<TimedResponse[]> {
  return JSON.parse(await readOutput(process.execPath, [PROGRAM], {}, JSON.stringify(options))) as TimedResponse[];
}

/** Whether a response is neither a success nor a redirect. */
export function isFailure({ status }: TimedResponse): boolean {
  return status < 200 || status >= 400;
}
