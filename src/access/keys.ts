import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Environment } from '../config.ts';

/** Which installations a key is for: `live` for production, `test` for all others. */
export type KeyEnvironment = 'live' | 'test';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 8;
// log2(62^38) = 226 bits: far beyond guessing, so that a fast digest is enough to store.
const SECRET_LENGTH = 38;
// 62^6 is the first power of 62 above 2^32.
const CHECKSUM_LENGTH = 6;

const KEY = /^(pds_(live|test)_([0-9A-Za-z]{8})_[0-9A-Za-z]{38})([0-9A-Za-z]{6})$/;
const KEY_ID = /^[0-9A-Za-z]{8}$/;

/** A key just made. `key` is shown once to whoever asked for it; `id` and `digest` are what is stored. */
export interface IssuedKey {
  readonly key: string;
  readonly id: string;
  readonly digest: string;
}

/** What can be read off a key. */
export interface ParsedKey {
  readonly id: string;
  readonly environment: KeyEnvironment;
}

/** The environment of the keys that an installation issues and accepts. */
export function keyEnvironmentOf(environment: Environment): KeyEnvironment {
  return environment === 'production' ? 'live' : 'test';
}

/**
 * Makes a new key: `pds_live_` or `pds_test_`, a public id of 8 characters, `_`, 38 random
 * characters, and 6 of a checksum over all before them. One typing error is always found,
 * and a scanner can tell a leaked key from text that looks like one.
 */
export function issueKeyText(environment: KeyEnvironment): IssuedKey {
  const id = randomText(ID_LENGTH);
  const key = composeKey(environment, id, randomText(SECRET_LENGTH));
  return { key, id, digest: digestOf(key) };
}

/** The text of a key made of these parts, with its checksum. For a key whose parts are given; all others are issued. */
export function composeKey(environment: KeyEnvironment, id: string, secret: string): string {
  const body = `pds_${environment}_${id}_${secret}`;
  return body + checksumOf(body);
}

/**
 * Reads the parts of a key whose shape and checksum are right; says nothing about whether it was ever issued.
 *
 * @returns null for any other text.
 */
export function parseKey(text: string): ParsedKey | null {
  const match = KEY.exec(text);
  if (match === null) return null;
  const [, body = '', environment, id = '', checksum] = match;
  return checksumOf(body) === checksum ? { id, environment: environment as KeyEnvironment } : null;
}

/** Whether a text has the shape of a key's public id. */
export function isKeyId(text: string): boolean {
  return KEY_ID.test(text);
}

/** Finds leaked keys in any text. SECURITY.md gives it to those who scan; of what it finds, the checksum decides. */
export const LEAKED_KEY = /\bpds_(?:live|test)_[0-9A-Za-z]{8}_[0-9A-Za-z]{44}\b/g;

/** The keys that stand in a text, each time that they do, with a checksum that is right. */
export function findKeys(text: string): string[] {
  return (text.match(LEAKED_KEY) ?? []).filter((key) => parseKey(key) !== null);
}

const KEYS_IN_TEXT = /pds_(live|test)_([0-9A-Za-z]{8})_[0-9A-Za-z]+/g;

/** A text without the keys that stand in it, of which only the public ids are left. */
export function withoutKeys(text: string): string {
  return text.replace(KEYS_IN_TEXT, 'pds_$1_$2_…');
}

/** SHA-256 of the whole key, hexadecimal: what is stored of it. */
export function digestOf(key: string): string {
  return hash('sha256', key, 'hex');
}

/** Whether this key is the one with that digest; takes the same time wherever they differ. */
export function hasDigest(key: string, digest: string): boolean {
  const given = Buffer.from(digestOf(key), 'hex');
  const stored = Buffer.from(digest, 'hex');
  return given.length === stored.length && timingSafeEqual(given, stored);
}

function randomText(length: number): string {
  // randomInt draws again where a remainder would favour the first characters.
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

/** CRC-32 in base 62, most significant digit first, padded: each sum has one spelling only. */
function checksumOf(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let digit = 0; digit < CHECKSUM_LENGTH; digit += 1) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
