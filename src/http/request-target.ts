/*
 * The address of a request, read from the raw text that the client sent. The router and the
 * framework's own query parser both let through what is wrong: "%ZZ" in a query stays as it
 * stands, NUL and bytes that are not UTF-8 reach the database.
 */

/** Not a path of the service, and read by the router without complaint: where addresses go that nobody can read. */
const UNREADABLE = '/unreadable/';

/** Scheme and authority of an absolute address, as a proxy is asked ("GET http://host/path"); it has to name a host. */
const ORIGIN = /^https?:\/\/[^/?#]+/i;

/** What is left without an origin. Any other form the router would answer by itself. */
const PATH = /^(?:[/?]|\*?$)/;

/** An address whose path has nothing to decode, as nearly all have. */
const PLAIN = /^\/[^%#?\0]*(?:\?[^#]*)?$/;

/**
 * The text behind percent-encoded UTF-8.
 *
 * @returns null for a bad escape, for bytes that are not UTF-8, and where a NUL is in it.
 */
export function decodeText(encoded: string): string | null {
  if (!encoded.includes('%')) return encoded.includes('\0') ? null : encoded;
  try {
    const text = decodeURIComponent(encoded);
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

/** The query of an address, without its question mark; empty where there is none. */
export function queryOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
}

/** The decoded path of an address; null where it cannot be read. */
export function readPath(url: string): string | null {
  const target = url.replace(ORIGIN, '');
  // A fragment is for the client alone; one that is sent could be taken for a part of the path or of the query.
  return url.includes('#') || !PATH.test(target) ? null : decodeText(target.split('?', 1)[0] ?? '');
}

/**
 * The address that the router gets. One that cannot be read goes to a path that does not
 * exist, on the same side of the key, so that it passes the same checks as any other request:
 * left to itself the router would answer it before them.
 */
export function routedUrl(url: string): string {
  if (PLAIN.test(url)) return url;
  // The router has an opinion of its own about what an origin is.
  const target = url.replace(ORIGIN, '');
  if (readPath(url) !== null) return /^[/*]/.test(target) ? target : `/${target}`;
  return isPartnerPath(target) ? `/v1${UNREADABLE}` : UNREADABLE;
}

/** Whether a decoded path, or the address of a route, is one that needs a key. */
export function isPartnerPath(path: string): boolean {
  return /^\/v1(?:[/?]|$)/.test(path);
}
