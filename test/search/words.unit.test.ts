import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { indexTokens, queryWords, wordsOf } from '../../src/search/words.ts';

/** Whether a record with this text is found by `q`, by the tokens alone. */
function finds(q: string, text: string): boolean {
  const tokens = indexTokens([text]);
  const words = queryWords(q);
  return (
    words.length > 0 &&
    words.every(({ prefix, stemToken }) =>
      tokens.some((token) => (!token.startsWith('=') && token.startsWith(prefix)) || token === stemToken),
    )
  );
}

describe('a search', () => {
  test.each([
    ['supplies', 'Office supply'],
    ['supply', 'Office SUPPLIES'],
    ['conc', 'Concrete work'],
    ['ecole', 'École'],
    ['ÉCOLE', 'ecole'],
    ['e\u0301cole', 'École'],
    ['RFP-2024-017', 'RFP-2024-017'],
    ['2024-017', 'RFP-2024-017'],
    ['fire', 'ﬁre safety'],
    ['istanbul', 'İstanbul'],
    ['電', '電気工事'],
    ['100%', '100 percent'],
    ['"fire" AND (safety)*', 'Fire and safety'],
  ])('for %j finds %j', (q, text) => {
    expect(finds(q, text)).toBe(true);
  });

  test.each([
    ['crete', 'Concrete'],
    ['fire water', 'Fire safety'],
    ['%', '100%'],
    ['*', 'anything'],
    ['=concret', 'nothing of it'],
    ['suppl1', 'supply'],
  ])('for %j does not find %j', (q, text) => {
    expect(finds(q, text)).toBe(false);
  });

  test('finds every text by each beginning of each of its words', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.nat(), fc.nat(), (text, which, length) => {
        const words = wordsOf(text);
        const word = words[which % Math.max(words.length, 1)];
        if (word === undefined) return true;
        const characters = Array.from(word);
        return finds(characters.slice(0, 1 + (length % characters.length)).join(''), text);
      }),
    );
  });

  test('cuts text and query alike, however it is written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (text) => {
        const words = wordsOf(text);
        for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD']) expect(wordsOf(text.normalize(form))).toEqual(words);
        expect(wordsOf(words.join(' '))).toEqual(words);
      }),
    );
  });

  test('keeps no more of a record than an index can hold', () => {
    const text = Array.from({ length: 200_000 }, (_, index) => `word${index}`).join(' ');
    const bytes = indexTokens([text, 'x'.repeat(100_000)]).reduce((sum, token) => sum + Buffer.byteLength(token), 0);
    expect(bytes).toBeLessThan(450_000);
    expect(Math.max(...indexTokens(['é'.repeat(5_000)]).map((token) => Buffer.byteLength(token)))).toBeLessThan(2_046);
  });
});
