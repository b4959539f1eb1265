import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeCursor,
  encodeCursor,
  type CursorBinding,
  type DecodedCursor,
} from '../../src/http/request/page-parameters.ts';

const secret = Buffer.alloc(32, 7);
const binding: CursorBinding = { endpoint: '/v1/contracts', partnerId: 3, filters: { q: 'fire', state: 'PA' } };
const position: DecodedCursor = { after: 'ctr_pa_1353_49621', watermark: '2026-11-21T02:39:03.376Z' };

const somePosition = fc.record({
  after: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 64 }),
  watermark: fc
    .date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
    .map((date) => date.toISOString()),
});

describe('a cursor', () => {
  test('decodes to the position that was encoded', () => {
    fc.assert(
      fc.property(somePosition, (some) => {
        expect(decodeCursor(secret, binding, encodeCursor(secret, binding, some))).toEqual(some);
      }),
    );
  });

  test('does not depend on the order of the filters', () => {
    const turned = { ...binding, filters: { state: 'PA', q: 'fire' } };
    expect(encodeCursor(secret, turned, position)).toBe(encodeCursor(secret, binding, position));
  });

  const cursor = encodeCursor(secret, binding, position);
  const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));

  test('is rejected with any character changed, removed, added or doubled', () => {
    for (let index = 0; index <= cursor.length; index += 1) {
      const [head, tail] = [cursor.slice(0, index), cursor.slice(index)];
      expect(decodeCursor(secret, binding, head + tail.slice(1)), `without ${index}`).toEqual(
        tail === '' ? position : null,
      );
      for (const character of [...printable, 'é', '\u{1F6E0}', '\0']) {
        if (character !== tail[0]) expect(decodeCursor(secret, binding, head + character + tail.slice(1))).toBeNull();
        expect(decodeCursor(secret, binding, head + character + tail)).toBeNull();
      }
    }
  });

  test.each([
    ['another endpoint', { ...binding, endpoint: '/v1/suppliers' }],
    ['another partner', { ...binding, partnerId: 4 }],
    ['another filter', { ...binding, filters: { q: 'fires', state: 'PA' } }],
    ['a filter more', { ...binding, filters: { ...binding.filters, coop: '' } }],
    ['a filter less', { ...binding, filters: { q: 'fire' } }],
  ])('is refused with %s', (_what, other) => {
    expect(decodeCursor(secret, other, cursor)).toBeNull();
  });

  test('is rejected with another secret', () => {
    expect(decodeCursor(Buffer.alloc(32, 8), binding, cursor)).toBeNull();
  });

  test('is rejected if it is arbitrary text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => decodeCursor(secret, binding, text) === null));
  });
});
