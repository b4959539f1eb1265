import { fileURLToPath } from 'node:url';
import type { HttpRequest } from './load.ts';
import { readOutput } from './output.ts';

const PROGRAM = fileURLToPath(new URL('one-at-a-time-process.ts', import.meta.url));

export interface OneAtATimeOptions {
  port: number;
  headers: Readonly<Record<string, string>>;
  requests: readonly HttpRequest[];
  /** Also requests the next page of each page that has one. */
  withNextPages?: boolean;
  /** The port of the server's `hold-probe.ts`, if it has one. */
  holdPort?: number | null;
}

export interface TimedResponse {
  /** The path, followed by ` (next page)` if it is the page after it. */
  request: string;
  status: number;
  /** From sending the request to the last byte of the response. */
  milliseconds: number;
  /** The longest event-loop hold since the previous response; null without a probe. */
  holdMs: number | null;
}

/** Sends each request once over one connection, waiting for each response before the next request. */
export async function askOneAtATime(options: OneAtATimeOptions): Promise<TimedResponse[]> {
  return JSON.parse(await readOutput(process.execPath, [PROGRAM], {}, JSON.stringify(options))) as TimedResponse[];
}

/** Whether the status is outside 200 to 399. */
export function isFailure({ status }: TimedResponse): boolean {
  return status < 200 || status >= 400;
}
