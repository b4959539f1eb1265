import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Tokenizer } from '../../src/search/tokenizer.ts';
import { prefixToken, queryWords, tokensOfPrefix, wordsOf } from '../../src/search/words.ts';

const tokenizers = { sqlite: new Tokenizer('sqlite'), postgres: new Tokenizer('postgres') };

/** Whether a record with this text is found by `q`, by the tokens alone; on SQLite by those of short beginnings. */
function finds(q: string, text: string): boolean {
  const [onPostgres, onSqlite] = (['postgres', 'sqlite'] as const).map((engine) => {
    const tokens = tokenizers[engine].tokensOf([text]);
    const words = queryWords(q);
    return (
      words.length > 0 &&
      words.every(({ prefix, stemTokens }) => {
        const beginning = engine === 'sqlite' ? prefixToken(prefix) : null;
        const { begin, itself } = engine === 'sqlite' ? tokensOfPrefix(prefix) : { begin: prefix, itself: null };
        return tokens.some(
          (token) =>
            stemTokens.includes(token) ||
            (beginning === null ? token.startsWith(begin) || token === itself : token === beginning),
        );
      })
    );
  });
  expect(onSqlite).toBe(onPostgres);
  return onPostgres === true;
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
    const { postgres } = tokenizers;
    const tokens = postgres.tokensOf([text, 'x'.repeat(100_000)]);
    const bytes = tokens.reduce((sum, token) => sum + Buffer.byteLength(token), 0);
    expect(bytes).toBeLessThan(450_000);
    expect(Math.max(...postgres.tokensOf(['é'.repeat(5_000)]).map((token) => Buffer.byteLength(token)))).toBeLessThan(
      2_046,
    );
  });
});
