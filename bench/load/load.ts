import { isInstalled } from '../machine/cores.ts';
import { runAutocannon } from './autocannon.ts';
import { runWrk } from './wrk.ts';

/** One request: a GET of a path, or a POST of JSON where there is a body. */
export interface HttpRequest {
  path: string;
  body?: string;
}

export interface LoadOptions {
  port: number;
  headers: Readonly<Record<string, string>>;
  requests: readonly HttpRequest[];
  /** Begins anew at the end of the list; otherwise it ends there, so that nothing is asked twice. */
  isRepeated: boolean;
  connections: number;
  seconds: number;
}

export interface LoadResult {
  requests: number;
  seconds: number;
  /** Answers other than 2xx and 3xx, and connections that broke. */
  failures: number;
  /** The list ended before the time was over. */
  isExhausted: boolean;
  bytes: number;
  p50Ms: number;
  p99Ms: number;
}

/** Asks for so many seconds over so many connections, from a process of its own, with wrk or else autocannon. */
export function runLoad(options: LoadOptions): Promise<LoadResult> {
  return isInstalled('wrk') ? runWrk(options) : runAutocannon(options);
}
