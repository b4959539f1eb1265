import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Environment } from '../config.ts';
import { OperatorError } from '../operator-error.ts';
import { printable } from '../printable.ts';

/** The installations that accept a key: `live` for production, `test` for all others. */
export const KEY_ENVIRONMENTS = ['live', 'test'] as const;

export type KeyEnvironment = (typeof KEY_ENVIRONMENTS)[number];

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** In code points. */
const MAX_LABEL_LENGTH = 64;

const ID_LENGTH = 8;
// log2(62^38) = 226 bits: cannot be guessed, so a fast digest is safe to store.
const SECRET_LENGTH = 38;
// 62^6 is the smallest power of 62 above 2^32.
const CHECKSUM_LENGTH = 6;

const KEY = /^(pds_(live|test)_([0-9A-Za-z]{8})_[0-9A-Za-z]{38})([0-9A-Za-z]{6})$/;
/** A key's public ID. */
export const KEY_ID = /^[0-9A-Za-z]{8}$/;

/** The demo partner's API key. It is public: the README shows it. */
export const DEMO_KEY = 'pds_test_demodemo_ThisKeyIsPublishedForEveryoneToTryDemo092oRd';

/** The demo key's public ID. Only the `dev` environment accepts it. */
export const DEMO_KEY_ID = 'demodemo';

/** The parts of a key that are not secret. */
export interface ParsedKey {
  readonly id: string;
  readonly environment: KeyEnvironment;
}

/** The environment of the keys that an installation issues and accepts. */
export function keyEnvironmentOf(environment: Environment): KeyEnvironment {
  return environment === 'production' ? 'live' : 'test';
}

/**
 * Generates a key: `pds_live_` or `pds_test_`, a public ID of 8 characters, `_`, 38 random characters, and a checksum
 * of 6 over everything before it, which detects every single typo. Only the ID and digest are stored.
 */
export function issueKeyText(environment: KeyEnvironment): { key: string; id: string; digest: string } {
  const id = randomText(ID_LENGTH);
  const key = composeKey(environment, id, randomText(SECRET_LENGTH));
  return { key, id, digest: digestOf(key) };
}

/** Composes a key from given parts and adds the checksum. All other keys come from `issueKeyText`. */
export function composeKey(environment: KeyEnvironment, id: string, secret: string): string {
  const body = `pds_${environment}_${id}_${secret}`;
  return body + checksumOf(body);
}

/** Parses a key, which may never have been issued; null if its format or checksum is wrong. */
export function parseKey(text: string): ParsedKey | null {
  const match = KEY.exec(text);
  if (match === null) return null;
  const [, body = '', environment, id = '', checksum] = match;
  return checksumOf(body) === checksum ? { id, environment: environment as KeyEnvironment } : null;
}

/** Candidates for leaked keys in any text; the checksum then decides. SECURITY.md publishes it for secret scanners. */
export const LEAKED_KEY = /\bpds_(?:live|test)_[0-9A-Za-z]{8}_[0-9A-Za-z]{44}\b/g;

/** All keys with a valid checksum in a text, repetitions included. */
export function findKeys(text: string): string[] {
  return (text.match(LEAKED_KEY) ?? []).filter((key) => parseKey(key) !== null);
}

const KEYS_IN_TEXT = /pds_(live|test)_([0-9A-Za-z]{8})_[0-9A-Za-z]+/g;

/** Redacts all keys in a text down to their public IDs. */
export function withoutKeys(text: string): string {
  return text.replace(KEYS_IN_TEXT, 'pds_$1_$2_…');
}

/**
 * Checks a key's label: 1 to 64 characters, not only spaces, none of them invisible, and no key in it.
 *
 * @throws OperatorError for any other text, which the message does not repeat.
 */
export function checkLabel(label: string): void {
  const isPrintable = printable(label) === label && label.trim() === label;
  if (isPrintable && label !== '' && Array.from(label).length <= MAX_LABEL_LENGTH && withoutKeys(label) === label)
    return;
  throw new OperatorError(
    `a label is 1 to ${MAX_LABEL_LENGTH} printable characters, such as "billing system", ` +
      'without a space at either end, and contains no key',
  );
}

/** SHA-256 of the whole key in hexadecimal, the form that is stored. */
export function digestOf(key: string): string {
  return hash('sha256', key, 'hex');
}

/** Whether a key has this digest, compared in constant time. */
export function hasDigest(key: string, digest: string): boolean {
  const given = Buffer.from(digestOf(key), 'hex');
  const stored = Buffer.from(digest, 'hex');
  return given.length === stored.length && timingSafeEqual(given, stored);
}

function randomText(length: number): string {
  // randomInt avoids modulo bias by rejection sampling.
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

/** CRC-32 in base 62, most significant digit first, padded so that each checksum has exactly one spelling. */
function checksumOf(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let digit = 0; digit < CHECKSUM_LENGTH; digit += 1) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
