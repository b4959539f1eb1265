/** One request: a GET, or a POST of JSON if there is a body. */
export interface HttpRequest {
  path: string;
  body?: string;
}

export interface LoadOptions {
  port: number;
  headers: Readonly<Record<string, string>>;
  requests: readonly HttpRequest[];
  /** Whether to start over at the end of the list. Otherwise the load stops there, so that no request is sent twice. */
  isRepeated: boolean;
  connections: number;
  seconds: number;
}

export interface LoadResult {
  requests: number;
  seconds: number;
  /** Responses other than 2xx and 3xx, and broken connections. */
  failures: number;
  /** Whether the list ran out before the time did. */
  isExhausted: boolean;
  bytes: number;
  p50Ms: number;
  p99Ms: number;
}
