import { createHash } from 'node:crypto';

const FITTING_ID = /^[A-Za-z0-9_-]{1,60}$/;
const MAX_SLUG = 40;

/** A name in the form in which two spellings of it are equal: NFKC, trimmed, single spaces, case-folded. */
export function normalizeName(name: string): string {
  return name.normalize('NFKC').trim().replaceAll(/\s+/g, ' ').toLowerCase();
}

/**
 * An id made from a key: `prefix` and the key if it fits into an id, else a readable slug and 12 hex digits of its
 * SHA-256. The same key always gives the same id.
 */
export function idFor(prefix: string, key: string): string {
  return FITTING_ID.test(key) ? `${prefix}${key}` : hashedId(prefix, key);
}

/** An id made from a text that is no identifier itself, such as a name. */
export function hashedId(prefix: string, key: string, readable = key): string {
  const slug = readable
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, MAX_SLUG);
  return `${prefix}${slug}${slug === '' ? '' : '_'}${sha256(key).toString('hex').slice(0, 12)}`;
}

/** A positive number below 2^48 made from a text. */
export function numberFor(text: string): number {
  return sha256(text).readUIntBE(0, 6) || 1;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
