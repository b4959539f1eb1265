import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEMO_KEY, DEMO_KEY_ID, digestOf, hasDigest, issueKeyText, parseKey } from '../../src/access/keys.ts';

const BASE62 = Array.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
// Including a letter that looks like an A, and one of two code units.
const STRANGERS = [' ', '\n', '-', '_', '+', '/', '=', '.', '\0', 'é', 'Ａ', '😀'];

const issued = fc.constantFrom('live' as const, 'test' as const).map((environment) => issueKeyText(environment));

describe('an issued key', () => {
  test('has the documented format, and parses into its parts', () => {
    const { key, id, digest } = issueKeyText('live');
    expect(key).toMatch(/^pds_live_[0-9A-Za-z]{8}_[0-9A-Za-z]{44}$/);
    expect(parseKey(key)).toEqual({ id, environment: 'live' });
    expect(digest).toBe(digestOf(key));
    expect(parseKey(issueKeyText('test').key)?.environment).toBe('test');
  });

  test('is never generated twice', () => {
    const keys = Array.from({ length: 2_000 }, () => issueKeyText('test'));
    expect(new Set(keys.map(({ key }) => key)).size).toBe(keys.length);
    expect(new Set(keys.map(({ id }) => id)).size).toBe(keys.length);
  });

  test('uses every character equally often', () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 3_000; i += 1) {
      for (const character of issueKeyText('test').key.slice(18, 56)) {
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
    }
    const expected = (3_000 * 38) / 62;
    const deviations = BASE62.map((character) => ((counts.get(character) ?? 0) - expected) ** 2 / expected);
    // Chi-squared with 61 degrees of freedom exceeds 130 once in a million runs.
    expect(deviations.reduce((sum, deviation) => sum + deviation)).toBeLessThan(130);
  });
});

describe('parseKey', () => {
  test('rejects every change of one character at every position', () => {
    for (const key of [issueKeyText('live').key, issueKeyText('test').key, DEMO_KEY]) {
      for (let position = 0; position < key.length; position += 1) {
        for (const character of [...BASE62, ...STRANGERS]) {
          if (character === key[position]) continue;
          const changed = key.slice(0, position) + character + key.slice(position + 1);
          expect(parseKey(changed), changed).toBeNull();
        }
      }
    }
  });

  test('rejects a missing, a doubled and a swapped character, and the word of the other environment', () => {
    fc.assert(
      fc.property(issued, fc.nat({ max: 60 }), ({ key }, position) => {
        const lost = key.slice(0, position) + key.slice(position + 1);
        const doubled = key.slice(0, position + 1) + key.slice(position);
        const swapped =
          key.slice(0, position) + key.charAt(position + 1) + key.charAt(position) + key.slice(position + 2);
        const relabelled = key.startsWith('pds_live_') ? key.replace('live', 'test') : key.replace('test', 'live');
        const wrong = [lost, doubled, relabelled, ...(swapped === key ? [] : [swapped])];
        return wrong.every((text) => parseKey(text) === null);
      }),
    );
  });

  test('rejects any other text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => parseKey(text) === null));
    for (const text of ['', 'pds_live_', ` ${DEMO_KEY}`, `${DEMO_KEY}\n`, `${DEMO_KEY}0`]) {
      expect(parseKey(text)).toBeNull();
    }
  });
});

test('a digest matches one key only, and a malformed digest none', () => {
  const { key, digest } = issueKeyText('test');
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect(hasDigest(key, digest)).toBe(true);
  expect(hasDigest(issueKeyText('test').key, digest)).toBe(false);
  for (const broken of ['', digest.slice(1), 'no digest']) expect(hasDigest(key, broken)).toBe(false);
});

test('the published demo key is a valid test key with its published id', () => {
  expect(parseKey(DEMO_KEY)).toEqual({ id: DEMO_KEY_ID, environment: 'test' });
});
