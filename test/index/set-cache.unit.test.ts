import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BLOCK_SIZE, setOf } from '../../src/index/position-set.ts';
import { SetCache } from '../../src/index/block-query.ts';

test('the cache stays within its size and keeps the most recently used set', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(200), fc.nat(6_000)), { maxLength: 100 }),
      fc.integer({ min: 20_000, max: 200_000 }),
      (entries, maxBytes) => {
        const cache = new SetCache(maxBytes);
        for (const [key, length] of entries) {
          const set = [setOf(Uint16Array.from({ length }, (_, index) => index))];
          cache.set(`key ${key}`, set);
          expect(cache.get(`key ${key}`)).toBe(set);
          const held = [...Array(201).keys()].flatMap((number) => cache.get(`key ${number}`) ?? []);
          expect(held.reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThanOrEqual(maxBytes);
          // The scan above touched every key, the greatest last: make `key` the most recently used again.
          cache.get(`key ${key}`);
        }
      },
    ),
    { numRuns: 50 },
  );
});

test('20,000 empty sets stay within the size as well', () => {
  const cache = new SetCache(1_000_000);
  for (let key = 0; key < 20_000; key += 1) cache.set(`key ${key}`, [setOf(new Uint16Array(0))]);
  const held = Array.from({ length: 20_000 }, (_, key) => cache.get(`key ${key}`)).filter((set) => set !== undefined);
  expect(held.length).toBeLessThanOrEqual(5_000);
  expect(held.length).toBeGreaterThan(1_000);
});

test('a set larger than the whole cache is not cached and evicts nothing', () => {
  const cache = new SetCache(5_000);
  const small = [setOf(Uint16Array.of(1))];
  cache.set('small', small);
  cache.set('large', [setOf(Uint16Array.from({ length: BLOCK_SIZE }, (_, index) => index))]);
  expect(cache.get('large')).toBeUndefined();
  expect(cache.get('small')).toBe(small);
});
