import type { IncomingMessage } from 'node:http';

/*
 * Node's parsed headers drop a repeated header or join its values. Code that must see repetitions reads the raw
 * headers: alternating names and values.
 */

const BEARER = /^bearer +([^ ]+)$/i;

/**
 * Reads the bearer key from a request's only Authorization header: we must not guess which of two counts.
 *
 * @returns null if the header is missing, repeated, or uses another scheme.
 */
export function readBearerKey(rawHeaders: readonly string[]): string | null {
  const [value, second] = valuesOf(rawHeaders, 'authorization');
  if (value === undefined || second !== undefined) return null;
  return BEARER.exec(value)?.[1] ?? null;
}

/** Describes what is wrong with a request's headers, independent of its URL; null if nothing is. */
export function problemOfHead(request: IncomingMessage): string | null {
  const { rawHeaders, httpVersion, headers } = request;
  // RFC 9112 section 3.2. Node's own check is off because its response has neither a request ID nor a body.
  const hosts = valuesOf(rawHeaders, 'host').length;
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1'))
    return 'An HTTP/1.1 request must have exactly one Host header.';
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    return 'The expectation in the Expect header is not supported. Remove the header.';
  }
  return hasUnknownEnd(request)
    ? 'The encoding in the Transfer-Encoding header is not supported. Remove the header.'
    : null;
}

/**
 * Whether the end of a request cannot be determined, so that its connection must be closed: Node's parser treats
 * everything that follows as an endless body (RFC 9112 section 6.3).
 */
export function hasUnknownEnd({ headers: { 'transfer-encoding': encoding } }: IncomingMessage): boolean {
  return encoding !== undefined && encoding.toLowerCase() !== 'chunked';
}

/** @param name in lower case. */
function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const header = rawHeaders[at];
    // Comparing lengths first rules out most names.
    if (header?.length === name.length && header.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '');
  }
  return values;
}
