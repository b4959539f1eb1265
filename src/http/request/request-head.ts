import type { IncomingMessage } from 'node:http';

// URLs are parsed from the raw text: the router and the framework's query parser let "%ZZ" in a query, NULs, and bytes
// that are not UTF-8 through.

/** URLs that cannot be routed as they are go to this path, which is valid to the router but not a route. */
const UNREADABLE = '/unreadable/';

/** Scheme and authority of an absolute URL, as sent to a proxy ("GET http://host/path"). The host is required. */
const ORIGIN = /^https?:\/\/[^/?#]+/i;

/** A request target without its origin. The router would respond to any other form itself. */
const PATH = /^(?:[/?]|\*?$)/;

/** A URL whose path has nothing to decode, which is nearly every URL. */
const PLAIN = /^\/[^%#?\0]*(?:\?[^#]*)?$/;

/** Decodes percent-encoded UTF-8; null for a bad escape, for bytes that are not UTF-8, and for a NUL. */
export function decodeText(encoded: string): string | null {
  if (!encoded.includes('%')) return encoded.includes('\0') ? null : encoded;
  try {
    const text = decodeURIComponent(encoded);
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

/** The query of a URL, without its question mark; empty if there is none. */
export function queryOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
}

/** The decoded path of a URL; null if it cannot be decoded. */
export function readPath(url: string): string | null {
  const target = url.replace(ORIGIN, '');
  // A fragment should never be sent, and could be mistaken for part of the path or query.
  return url.includes('#') || !PATH.test(target) ? null : decodeText(target.split('?', 1)[0] ?? '');
}

/**
 * The URL that the router gets for a request. An unreadable one is replaced by a path that does not exist, under /v1 if
 * it was itself: the router would respond to it before the key, limit and head of the request are checked.
 */
export function routedUrl({ url = '/' }: Pick<IncomingMessage, 'url'>): string {
  if (PLAIN.test(url)) return url;
  // The router parses origins differently.
  const target = url.replace(ORIGIN, '');
  const path = readPath(url);
  if (path === null) return isPartnerPath(target) ? `/v1${UNREADABLE}` : UNREADABLE;
  // The router does not decode these, and would not find "/v1%2Fx" under /v1.
  if (isPartnerPath(path) && /^\/[^/?]*%[23]f/i.test(target)) return `/v1${UNREADABLE}`;
  return /^[/*]/.test(target) ? target : `/${target}`;
}

/** Whether a decoded path, or a route's URL, needs a key. */
export function isPartnerPath(path: string): boolean {
  return /^\/v1(?:[/?]|$)/.test(path);
}

// Node's parsed headers drop a repeated header or join its values. Raw headers alternate names and values.

const BEARER = /^bearer +([^ ]+)$/i;

/** The key of the only Authorization header; null if that is missing, repeated, or uses another scheme. */
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

/** Whether Node takes all that follows a request for its endless body (RFC 9112 section 6.3). */
export function hasUnknownEnd({ headers: { 'transfer-encoding': encoding } }: IncomingMessage): boolean {
  return encoding !== undefined && encoding.toLowerCase() !== 'chunked';
}

/** @param name in lower case. */
function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index];
    // Comparing lengths first rules out most names.
    if (header?.length === name.length && header.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}
